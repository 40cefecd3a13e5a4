/* The messages of a user, verbatim, newest first. */
import { asking, call, get, part, userPath } from "../api.js";
import { el, tell } from "../dom.js";
import { t, word } from "../i18n.js";
import { time } from "../format.js";
import { button, empty, failure, growing, head, said } from "../parts.js";
import { confirmDeletion } from "../dialogs.js";
import { can } from "../session.js";
import { deleted } from "./shared.js";

const PAGE = 40;

export async function messages({ user, signal }) {
  const counts = await get(userPath(user, "stats"), signal);
  const list = growing({
    kind: "cards",
    label: t("messages"),
    load: (cursor) => get(asking(userPath(user, "messages"),
      { newest_first: true, limit: PAGE, cursor }), signal),
    draw: (one) => el("li", row(user, one)),
    none: () => empty(t("user.none"), t("user.none.help", { user })),
  });
  await list.ready;
  const close = can("write") && counts.buffered > 0 && button(t("flush"), async (event) => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    try {
      await call("POST", userPath(user, "flush"), { body: {} });
      tell(t("flushed"));
      dispatchEvent(new Event("episodica:again"));
    } catch (problem) {
      pressed.replaceWith(failure(problem));
    }
  });
  return el("div",
    head({ title: t("messages"), lead: t("messages.lead") }),
    counts.buffered > 0 && el("div", { class: "notice" },
      el("p", t("buffered.n", { n: counts.buffered })), close),
    el("div", { class: "section" }, list.element));
}

function row(user, one) {
  const remove = can("erase") && button(t("delete"), async () => {
    const gone = await confirmDeletion({
      title: t("delete.message"),
      text: t("delete.message.help"),
      quoted: one.content,
      run: () => call("DELETE", userPath(user, "messages", part(one.id))),
    });
    if (gone) {
      tell(deleted(gone.done));
      dispatchEvent(new Event("episodica:again"));
    }
  }, "quiet", { "aria-label": t("delete.message.of", { who: one.name || one.role }) });
  return el("article", { class: "card fact" },
    el("div", { class: "meta" },
      el("strong", { dir: "auto" }, one.name || word("role", one.role)), time(one.timestamp),
      one.session_id && el("span", { dir: "auto" }, one.session_id), remove),
    said(one.content));
}
