/* What the models cost, by phase, model and user. */
import { get } from "../api.js";
import { el } from "../dom.js";
import { number, t, word } from "../i18n.js";
import { seconds } from "../format.js";
import { bar, empty, figures, head, section, table } from "../parts.js";
import { link } from "../router.js";

// Users of a long list that are shown.
const MOST = 50;

export async function usage(signal) {
  const { usage: cost } = await get("v1/store", signal);
  const top = head({ title: t("usage"), lead: t("usage.lead") });
  if (cost.calls + cost.failures + cost.cached === 0) {
    return el("div", top, empty(t("usage.none"), t("usage.none.help")));
  }
  return el("div", top,
    figures([
      [t("calls"), cost.calls],
      [t("tokens.prompt"), cost.prompt_tokens],
      [t("tokens.answer"), cost.completion_tokens],
      [t("cost.seconds"), seconds(cost.seconds)],
      [t("cost.cached"), cost.cached],
      [t("cost.failures"), cost.failures],
    ]),
    section(t("usage.phase"), costs(t("usage.phase"), cost.by_phase, (one) => word("phase", one))),
    section(t("usage.model"), costs(t("usage.model"), cost.by_model, (one) => one)),
    section(t("usage.user"), costs(t("usage.user"), cost.by_user,
      (one) => el("a", { href: link("user", one), dir: "auto" }, one))));
}

function costs(caption, by, name) {
  const tokens = (one) => one.prompt_tokens + one.completion_tokens;
  const rows = Object.entries(by).sort(([, one], [, other]) => tokens(other) - tokens(one));
  if (rows.length === 0) return el("p", { class: "faint" }, t("nothing"));
  const most = Math.max(1, ...rows.map(([, one]) => tokens(one)));
  return table(caption,
    ["", t("tokens"), t("calls"), t("tokens.prompt"), t("tokens.answer"), t("cost.seconds"),
      t("cost.failures")], "tbnnnnn",
    rows.slice(0, MOST).map(([key, one]) => [
      name(key), bar(tokens(one), 0, most), number(one.calls), number(one.prompt_tokens),
      number(one.completion_tokens), seconds(one.seconds), number(one.failures)]));
}
