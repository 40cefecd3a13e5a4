/* The facts of a user, with those that ended. */
import { asking, get, userPath } from "../api.js";
import { el } from "../dom.js";
import { t, word } from "../i18n.js";
import { chip, empty, field, growing, head, select } from "../parts.js";
import { link } from "../router.js";
import { laterMark, laterWords, state, validity } from "./shared.js";

const PAGE = 30;
// Pages that are read at once to find facts that ended.
const LOOKS = 5;
const KINDS = ["personal_info", "work_history", "preference", "relationship", "goal", "entity",
  "event", "case", "decision", "procedure"];

export async function facts({ user, signal }) {
  const place = el("div");
  const later = await laterWords(user, signal);
  const draw = async () => {
    const list = listed(user, which.value, kind.value, later, signal);
    await list.ready;
    place.replaceChildren(list.element);
  };
  const which = select("which", [["current", t("facts.current")], ["all", t("facts.all")],
    ["outdated", t("facts.outdated")]], "current", draw);
  const kind = select("kind", [["", t("facts.anykind")],
    ...KINDS.map((one) => [one, word("kind", one)])], "", draw);
  await draw();
  return el("div",
    head({ title: t("facts"), lead: t("facts.lead") }),
    el("form", { class: "fields", onsubmit: (event) => event.preventDefault() },
      field(t("facts.which"), which), field(t("kind"), kind)),
    place);
}

function listed(user, which, kind, later, signal) {
  return growing({
    kind: "cards",
    label: t("facts"),
    load: (cursor) => load(user, which, kind, cursor, signal),
    draw: (one) => el("li", card(user, one, later.get(one.id))),
    none: () => empty(t("facts.none"), t(which === "outdated" ? "facts.none.outdated"
      : "facts.none.help")),
  });
}

async function load(user, which, kind, cursor, signal) {
  const options = {
    limit: PAGE, newest_first: true, include_superseded: which !== "current", kind,
  };
  let page = null, items = [];
  for (let look = 0; look < (which === "outdated" ? LOOKS : 1); look += 1) {
    page = await get(asking(userPath(user, "facts"), { ...options, cursor }), signal);
    items = items.concat(page.items.filter((one) => which !== "outdated" || !one.is_current));
    cursor = page.next_cursor;
    if (!cursor || items.length >= PAGE) break;
  }
  return { items, next_cursor: page.next_cursor };
}

function card(user, one, words) {
  const of = [one.subject, one.attribute].filter(Boolean).join(" · ");
  return el("article", { class: `card fact${one.is_current ? "" : " over"}` },
    el("h2", { dir: "auto" }, el("a", { href: link("user", user, "fact", one.id) },
      one.content)),
    el("div", { class: "meta" }, state(one), chip(word("kind", one.kind)),
      of && el("span", { dir: "auto" }, of), el("span", validity(one)), laterMark(user, words),
      el("span", t("sources.n", { n: one.source_messages.length }))));
}
