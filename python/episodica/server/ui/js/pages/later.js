/* What a user said later about the same thing, and which of the two they keep. */
import { call, get, userPath } from "../api.js";
import { el, tell } from "../dom.js";
import { day } from "../format.js";
import { t, word } from "../i18n.js";
import { button, chip, empty, head } from "../parts.js";
import { link } from "../router.js";
import { can } from "../session.js";

const SIDES = ["new", "old", "both"];

export async function later({ user, signal }) {
  const path = userPath(user, "changes");
  const { items } = await get(path, signal);
  return el("div",
    head({ title: t("later"), lead: t("later.lead") }),
    items.length === 0 ? empty(t("later.none"), t("later.none.help"))
      : el("ol", { class: "cards", "aria-label": t("later") },
        items.map((one) => el("li", card(user, path, one)))));
}

function card(user, path, { old, new: now, kind, kept }) {
  return el("article", { class: "card" },
    words(user, t("later.before"), old, kept === "new"),
    words(user, t("later.then"), now, kept === "old"),
    el("div", { class: "meta" }, chip(word("change", kind)), kept && chip(t(`kept.${kept}`))),
    can("write") && el("div", { class: "actions" }, SIDES.map((side) => (
      button(t(`keep.${side}`), () => keep(path, old, now, side), "quiet",
        { "aria-pressed": String(side === kept) })))));
}

function words(user, name, side, isOver) {
  return el("div", { class: isOver ? "fact over" : "" },
    el("div", { class: "meta" }, el("strong", name), el("span", day(side.timestamp)),
      el("span", { dir: "auto" }, side.speaker)),
    el("p", { class: "said", dir: "auto" },
      el("a", { href: link("user", user, "fact", side.memory_id) }, side.content)));
}

async function keep(path, old, now, side) {
  await call("POST", path, { body: { old: old.memory_id, new: now.memory_id, keep: side } });
  tell(t("saved"));
  dispatchEvent(new Event("episodica:again"));
}
