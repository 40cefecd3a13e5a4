/* Parts of the pages about records. */
import { get, userPath } from "../api.js";
import { el } from "../dom.js";
import { t, word } from "../i18n.js";
import { day, minute, moment, time } from "../format.js";
import { chip, said } from "../parts.js";
import { link } from "../router.js";

/** Messages as a talk: who, when, what. A day is named where it begins. */
export function talk(messages) {
  return el("ol", { class: "talk" }, messages.map((one, index) => (
    el("li", { class: one.role === "assistant" ? "other" : "own" },
      el("div",
        el("div", { class: "speaker", dir: "auto" }, one.name || word("role", one.role)),
        el("div", { class: "when" }, time(one.timestamp,
          index > 0 && day(messages[index - 1].timestamp) === day(one.timestamp)
            ? minute : moment))),
      el("div", { class: "body" }, said(one.content))))));
}

// A quotation that nobody ended says what was true on its day, and perhaps no longer.
const isOpenQuotation = (fact) => fact.quote !== null && fact.is_current && !fact.valid_to;

/** The time during which a fact is true; of an open quotation, the day it was said. */
export function validity(fact) {
  if (isOpenQuotation(fact)) return t("valid.said", { day: day(fact.said_at ?? fact.valid_from) });
  if (fact.valid_to) {
    return t("valid.ended", { from: day(fact.valid_from), to: day(fact.valid_to) });
  }
  // Of a statement without a beginning, only the moment of the statement is known.
  const stated = fact.provenance?.method === "user" && fact.valid_from === fact.created_at;
  return stated ? "" : t("valid.since", { from: day(fact.valid_from) });
}

export function state(fact) {
  if (isOpenQuotation(fact)) return null;
  return fact.is_current ? chip(t("current"), "good") : chip(t("outdated"), "warn");
}

/** The later words about each fact, by its id, the latest first. */
export async function laterWords(user, signal) {
  const { items } = await get(userPath(user, "changes"), signal);
  const found = new Map();
  for (const { old, new: now, kept } of items) {
    if (!kept || kept === "new") found.set(old.memory_id, [...found.get(old.memory_id) ?? [], now]);
  }
  return found;
}

/** A mark that leads to the latest of them. */
export function laterMark(user, words) {
  if (!words) return null;
  const href = link("user", user, "fact", words[0].memory_id);
  return el("a", { class: "chip warn", href }, t("later.words"));
}

/** The counts of a deletion, in words. */
export function deleted(report) {
  return t("deleted", {
    messages: report.messages, episodes: report.episodes, facts: report.semantic_memories,
  });
}

/** The calls of a model for a record. */
export function trace(steps) {
  if (steps.length === 0) return null;
  return el("section", { class: "section" }, el("h2", t("trace")),
    el("div", { class: "cards" }, steps.map((one) => el("article", { class: "card" },
      el("h3", `${word("phase", one.phase)} · ${one.model}`),
      el("p", { class: "meta" }, time(one.at), el("span", t("tokens.n", { n: one.tokens })),
        one.cached && chip(t("cached")), one.failure && chip(one.failure, "bad")),
      el("details", el("summary", t("trace.prompt")), el("pre", one.system), el("pre", one.user)),
      one.answer && el("details", el("summary", t("trace.answer")), el("pre", one.answer))))));
}
