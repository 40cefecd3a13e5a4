/* The outcome for each candidate for a fact, and the rejected sentences. */
import { asking, get, userPath } from "../api.js";
import { el } from "../dom.js";
import { t, word } from "../i18n.js";
import { time } from "../format.js";
import { chip, empty, failure, field, head, section, select, table } from "../parts.js";
import { link } from "../router.js";

const LATEST = 200;
const CHANGES = ["ADD", "UPDATE", "MERGE", "SUPERSEDE", "IGNORE"];
const LOOKS = { ADD: "good", UPDATE: "tint", MERGE: "tint", SUPERSEDE: "warn", IGNORE: "bad" };

export async function learning({ user, signal }) {
  const rejected = await latest(user, "REJECT", signal);
  const place = el("div");
  const draw = async () => {
    try {
      place.replaceChildren(listed(user, await latest(user, which.value, signal), which.value));
    } catch (problem) {
      if (problem.name !== "AbortError") place.replaceChildren(failure(problem, draw));
    }
  };
  const which = select("change", [["", t("learning.any")],
    ...CHANGES.map((one) => [one, word("change", one)])], "", draw);
  await draw();
  return el("div",
    head({ title: t("learning"), lead: t("learning.lead") }),
    el("form", { class: "fields", onsubmit: (event) => event.preventDefault() },
      field(t("learning.which"), which)),
    place,
    rejections(rejected));
}

/** The latest decisions; a long history is read in parts, from its beginning on. */
async function latest(user, change, signal) {
  let found = [], cursor = null;
  do {
    const page = await get(asking(userPath(user, "learning"),
      { limit: LATEST, change, cursor }), signal);
    found = page.events.concat(found).slice(0, LATEST);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

function listed(user, events, which) {
  if (events.length === 0) {
    return empty(t("learning.none"), t(which ? "learning.none.kind" : "learning.none.help"));
  }
  return el("ol", { class: "cards", "aria-label": t("learning") }, events.map((one) => el("li",
    el("article", { class: "card fact" },
      el("div", { class: "meta" }, chip(word("change", one.event), LOOKS[one.event] ?? ""),
        time(one.at), one.reason && el("span", { dir: "auto" }, word("why", one.reason))),
      el("p", { class: "said", dir: "auto" }, one.id
        ? el("a", { href: link("user", user, "fact", one.id) }, one.statement) : one.statement),
      one.previous && one.previous !== one.statement && el("p", { class: "said small", dir: "auto" },
        el("span", { class: "faint" }, `${t("previous")} `), el("del", one.previous))))));
}

/** Sentences of the user that the rules rejected, latest first, with the reason. */
function rejections(events) {
  return section(t("rejected"),
    el("p", { class: "faint" }, t("rejected.lead")),
    events.length === 0 ? el("p", t("rejected.none"))
      : table(t("rejected"), [t("rejected.sentence"), t("rejected.why")], "tt",
        events.map((one) => [
          el("span", { class: "said", dir: "auto" }, one.statement), word("reject", one.reason)])));
}
