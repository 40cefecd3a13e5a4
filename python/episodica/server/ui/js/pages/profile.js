/* The facts about a person that nobody ended, by kind, the newest first. */
import { get, userPath } from "../api.js";
import { el } from "../dom.js";
import { t, word } from "../i18n.js";
import { empty, head, section } from "../parts.js";
import { link } from "../router.js";
import { laterMark, laterWords, validity } from "./shared.js";

// Facts of a kind that are shown at first.
const FIRST = 12;

export async function profile({ user, signal }) {
  const [{ facts }, later] = await Promise.all([
    get(userPath(user, "profile"), signal), laterWords(user, signal),
  ]);
  const kinds = Object.entries(facts).filter(([, list]) => list.length > 0);
  return el("div",
    head({ title: t("profile"), lead: t("profile.lead") }),
    kinds.length === 0 ? empty(t("facts.none"), t("facts.none.help"))
      : kinds.map(([kind, list]) => section(word("kind", kind),
        listed(user, list.slice(0, FIRST), later),
        list.length > FIRST && el("details", { class: "more" },
          el("summary", t("profile.more", { n: list.length - FIRST })),
          listed(user, list.slice(FIRST), later)))));
}

function listed(user, list, later) {
  return el("ul", { class: "lines" }, list.map((one) => el("li",
    el("a", { href: link("user", user, "fact", one.id), dir: "auto" }, one.content), " ",
    el("span", { class: "faint small" }, validity(one)), " ", laterMark(user, later.get(one.id)))));
}
