/* One fact: source messages, history, validity. */
import { asking, get, part, userPath } from "../api.js";
import { el, replace } from "../dom.js";
import { number, t, word } from "../i18n.js";
import { day, time } from "../format.js";
import { button, chip, failure, head, pairs, said, section } from "../parts.js";
import { link } from "../router.js";
import { changes } from "./changes.js";
import { written } from "./episode.js";
import { laterWords, state, talk, trace, validity } from "./shared.js";

// Proofs that are fetched at a time.
const PROOFS = 8;

export async function fact({ user, id, signal }) {
  const path = userPath(user, "facts", part(id));
  const one = await get(path, signal);
  const [history, steps, next, later] = await Promise.all([
    get(`${path}/history`, signal),
    get(`${path}/trace`, signal),
    one.superseded_by ? found(user, "facts", one.superseded_by, signal) : null,
    laterWords(user, signal),
  ]);
  const actions = changes({
    path,
    current: one.content,
    quoted: one.content,
    correcting: t("correct.fact"),
    deleting: t("delete.fact"),
    help: t("delete.fact.help"),
    next: link("user", user, "facts"),
  });
  return el("div",
    head({ title: t("fact"), actions }),
    el("div", { class: "layer" },
      el("div", { class: "meta" }, state(one), chip(word("kind", one.kind))),
      said(one.content, "lead"),
      el("p", { class: "faint" }, validity(one)),
      next && el("p", t("superseded.by"), " ",
        el("a", { href: link("user", user, "fact", next.id), dir: "auto" }, next.content)),
      (later.get(one.id) ?? []).filter((words) => words.memory_id !== next?.id).map((words) => (
        el("p", t("later.on", { day: day(words.timestamp) }), " ",
          el("a", { href: link("user", user, "fact", words.memory_id), dir: "auto" },
            words.content))))),
    section(t("evidence"), await evidence(user, one.source_messages, signal)),
    one.source_episodes.length > 0 && section(t("from"), await sources(user, one, signal)),
    section(t("history"), el("ol", { class: "versions" },
      history.versions.toReversed().map((version) => el("li", { class: "fact" },
        el("p", { class: "meta" }, el("span", t("version", { n: version.revision + 1 })),
          time(version.updated_at), state(version), el("span", validity(version))),
        said(version.content))))),
    section(t("about"), pairs([
      [t("subject"), one.subject],
      [t("attribute"), one.attribute],
      [t("confidence"), number(one.confidence, 2)],
      [t("importance"), number(one.importance, 2)],
      [t("writtenby"), written(one.provenance)],
      [t("created"), time(one.created_at)],
      [t("updated"), time(one.updated_at)],
      [t("uri"), el("code", one.uri)],
    ])),
    trace(steps.steps));
}

/** A record, or `null` if it was deleted. */
async function found(user, resource, id, signal) {
  try {
    return await get(asking(userPath(user, resource, part(id)), { layer: "L0" }), signal);
  } catch (problem) {
    if (problem.status === 404) return null;
    throw problem;
  }
}

async function evidence(user, ids, signal) {
  if (ids.length === 0) return el("p", { class: "faint" }, t("evidence.none"));
  const list = el("div", { class: "cards" }), foot = el("div", { class: "more" });
  let count = 0;
  const grow = async () => {
    const some = ids.slice(count, count + PROOFS);
    try {
      const said = await Promise.all(some.map((id) => found(user, "messages", id, signal)));
      count += some.length;
      const known = said.filter(Boolean);
      if (known.length > 0) list.append(el("div", { class: "card" }, talk(known)));
      replace(foot, count < ids.length && button(t("more"), grow));
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      replace(foot, failure(problem, grow));
    }
  };
  await grow();
  return [list, foot];
}

async function sources(user, fact, signal) {
  const some = fact.source_episodes.slice(0, PROOFS);
  const known = await Promise.all(some.map((id) => found(user, "episodes", id, signal)));
  return el("ul", { class: "cards" }, known.filter(Boolean).map((one) => el("li",
    el("a", { href: link("user", user, "episode", one.id), dir: "auto" },
      one.title || t("untitled")), " ", el("span", { class: "faint small" }, time(one.timestamp)))));
}
