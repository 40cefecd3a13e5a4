/* One episode at its three layers. */
import { get, part, userPath } from "../api.js";
import { el } from "../dom.js";
import { t, word } from "../i18n.js";
import { span, time } from "../format.js";
import { chip, head, pairs, said, section } from "../parts.js";
import { link } from "../router.js";
import { changes } from "./changes.js";
import { talk, trace } from "./shared.js";
import { reasonOf } from "./timeline.js";

export async function episode({ user, id, signal }) {
  const path = userPath(user, "episodes", part(id));
  const one = await get(path, signal);
  const [history, steps] = await Promise.all([
    get(`${path}/history`, signal), get(`${path}/trace`, signal),
  ]);
  const actions = changes({
    path,
    current: one.content,
    quoted: one.title,
    correcting: t("correct.episode"),
    deleting: t("delete.episode"),
    help: t("delete.episode.help"),
    next: link("user", user),
  });
  return el("div", head({ title: one.title || t("untitled"), actions }),
    el("section", { class: "layer" }, layer(t("layer.L0"), "L0"),
      one.summary ? said(one.summary, "lead") : el("p", { class: "faint" }, t("nothing"))),
    el("section", { class: "layer" }, layer(t("layer.L1"), "L1"), said(one.content, "narrative")),
    el("section", { class: "layer" }, layer(t("layer.L2"), "L2"), talk(one.messages)),
    section(t("about"), pairs([
      [t("when"), span(one.timestamp, one.ended_at)],
      [t("ended.label"), el("span", { dir: "auto" }, reasonOf(one),
        one.boundary?.detection_method
          && el("span", { class: "faint" }, ` · ${word("method", one.boundary.detection_method)}`))],
      [t("session"), one.session_id ?? ""],
      [t("topics"), one.topics.length > 0
        ? el("div", { class: "chips" }, one.topics.map((topic) => chip(topic))) : ""],
      [t("writtenby"), written(one.provenance)],
      [t("created"), time(one.created_at)],
      [t("uri"), el("code", one.uri)],
    ])),
    history.versions.length > 1 && section(t("history"),
      el("ol", { class: "versions" }, history.versions.toReversed().map((version, index) => (
        el("li", { class: "fact" },
          el("p", { class: "meta" },
            el("span", t("version", { n: history.versions.length - index })),
            time(version.created_at)),
          el("details", el("summary", version.title || t("untitled")), said(version.content))))))),
    trace(steps.steps));
}

function layer(name, code) {
  return el("h2", name, chip(code, "tint"));
}

export function written(provenance) {
  if (!provenance?.method) return "";
  const by = word("by", provenance.method);
  return provenance.model ? `${by} (${provenance.model})` : by;
}

