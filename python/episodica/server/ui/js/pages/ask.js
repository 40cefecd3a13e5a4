/* The playground: a context for a prompt, and a search whose scores explain themselves. */
import { call, userPath } from "../api.js";
import { announce, el, replace } from "../dom.js";
import { number, t, word } from "../i18n.js";
import { clipped, time } from "../format.js";
import { bar, chip, empty, failure, field, head, said, select, table } from "../parts.js";
import { link } from "../router.js";
import { talk } from "./shared.js";

const KINDS = ["episodic", "semantic", "message"];
const METHODS = ["hybrid", "rrf", "vector", "bm25", "norlift"];

export async function ask({ user, signal }) {
  const place = el("div", { "aria-live": "off" });
  const query = el("input", { type: "search", autocomplete: "off", enterkeyhint: "search" });
  const kinds = KINDS.map((one) => el("input", { type: "checkbox", name: one }));
  const method = select("method", METHODS.map((one) => [one, word("method", one)]), "hybrid");
  const count = el("input", { type: "number", min: "1", max: "100", value: "10" });
  const tokens = el("input", { type: "number", min: "1", max: "100000", value: "1000" });
  const since = el("input", { type: "date" }), until = el("input", { type: "date" });
  const outdated = el("input", { type: "checkbox", name: "outdated" });

  const options = () => {
    const chosen = KINDS.filter((_, index) => kinds[index].checked);
    return {
      query: query.value,
      method: method.value,
      ...(chosen.length > 0 && { kinds: chosen }),
      ...(since.value && { since: since.value }),
      ...(until.value && { until: until.value }),
    };
  };
  const run = async (work) => {
    if (!query.value.trim()) {
      query.focus();
      return;
    }
    replace(place, el("div", { class: "working" }, t("loading")));
    try {
      const drawn = await work();
      if (!signal.aborted) replace(place, drawn);
    } catch (problem) {
      if (problem.name !== "AbortError") replace(place, failure(problem));
    }
  };
  const search = () => run(async () => {
    const found = await call("POST", userPath(user, "search"), {
      signal,
      body: {
        ...options(), top_k: Number(count.value) || 10, include_superseded: outdated.checked,
        explain: true,
      },
    });
    return hits(user, found);
  });
  const pack = () => run(async () => {
    const packed = await call("POST", userPath(user, "context"), {
      signal, body: { ...options(), max_tokens: Number(tokens.value) || 1000 },
    });
    return context(user, packed, Number(tokens.value) || 1000);
  });
  return el("div",
    head({ title: t("ask"), lead: t("ask.lead") }),
    el("form", {
      class: "fields", role: "search",
      onsubmit(event) {
        event.preventDefault();
        pack();
      },
    },
    field(t("ask.query"), query, "wide"),
    el("fieldset", { class: "field" }, el("legend", t("ask.kinds")),
      el("div", { class: "choices" }, KINDS.map((one, index) => (
        el("label", kinds[index], word("hit", one)))))),
    field(t("ask.method"), method), field(t("ask.count"), count),
    field(t("since"), since), field(t("until"), until),
    el("fieldset", { class: "field" }, el("legend", t("facts")),
      el("div", { class: "choices" }, el("label", outdated, t("ask.outdated")))),
    field(t("ask.tokens"), tokens),
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "button main" }, t("ask.context")),
      el("button", { type: "button", class: "button", onclick: search }, t("ask.search")))),
    place);
}

function hits(user, found) {
  announce(t("hits.n", { n: found.hits.length }));
  if (found.hits.length === 0) return empty(t("hits.none"), t("hits.none.help"));
  return el("section",
    el("h2", t("hits.n", { n: found.hits.length })),
    el("p", { class: "faint small took" }, t("took", { ms: number(found.took_ms, 1) })),
    degraded(found.degraded),
    el("ol", { class: "cards" }, found.hits.map((one) => el("li", hit(user, one)))));
}

function degraded(legs) {
  return legs.length > 0 && el("div", { class: "notice warn" },
    el("p", t("degraded", { legs: legs.join(", ") })));
}

function hit(user, one) {
  const place = { episodic: "episode", semantic: "fact" }[one.kind];
  const title = one.title || clipped(one.content, 120);
  return el("article", { class: "card hit" },
    el("header",
      el("h3", { dir: "auto" }, place
        ? el("a", { href: link("user", user, place, one.id) }, title) : title),
      el("span", { class: "score" }, t("score", { score: number(one.score, 3, 3) }))),
    el("div", { class: "meta" }, chip(word("hit", one.kind), "tint"), time(one.timestamp),
      !one.is_current && chip(t("outdated"), "warn")),
    one.title && el("p", { class: "said", dir: "auto" }, one.snippet || clipped(one.content)),
    one.episode && el("p", { class: "small", dir: "auto" }, t("hit.of"), " ",
      el("a", { href: link("user", user, "episode", one.episode.id) }, one.episode.title)),
    one.claims.length > 0 && el("ul", { class: "small" }, one.claims.map((claim) => el("li",
      el("a", { href: link("user", user, "fact", claim.id), dir: "auto" }, claim.content)))),
    el("details", el("summary", t("why")), terms(one)),
    ![title, one.snippet].includes(one.content)
      && el("details", el("summary", t("text.full")), said(one.content)));
}

/** The terms of a score: a bar, a number and words for each. */
function terms(one) {
  const rows = flat(one.explanation ?? { name: "score", value: one.score, children: [] });
  const values = rows.filter(({ depth }) => depth > 1).map(({ node }) => node.value);
  const low = Math.min(0, ...values), high = Math.max(...values, 0) || 1;
  const made = table(t("why"), [t("term"), "", t("value"), t("how")], "tbnt",
    rows.map(({ node, depth }) => [
      word("term", node.name), depth > 1 ? bar(node.value, low, high) : "",
      number(node.value, 4, 4), node.detail ?? "",
    ]));
  made.classList.add("terms");
  made.querySelectorAll("tbody tr").forEach((row, index) => {
    row.classList.add(`depth-${Math.min(3, rows[index].depth)}`);
    row.lastChild.classList.add("detail");
  });
  made.querySelector("thead th:last-child").classList.add("detail");
  return made;
}

function flat(node, depth = 0) {
  return [{ node, depth }, ...(node.children ?? []).flatMap((one) => flat(one, depth + 1))];
}

function context(user, packed, most) {
  announce(t("context.tokens", { n: packed.token_count, most }));
  return el("section",
    el("h2", t("context")),
    el("p", { class: "faint small" }, t("context.tokens", { n: packed.token_count, most })),
    bar(packed.token_count, 0, most),
    degraded(packed.degraded),
    el("pre", { class: "pack", dir: "auto", tabindex: "0" }, packed.text),
    packed.facts.length > 0 && [el("h3", { class: "section" }, t("context.facts")),
      el("ul", { class: "cards" }, packed.facts.map((one) => el("li",
        el("a", { href: link("user", user, "fact", one.id), dir: "auto" }, one.content))))],
    packed.messages.length > 0 && [el("h3", { class: "section" }, t("context.messages")),
      talk(packed.messages)]);
}
