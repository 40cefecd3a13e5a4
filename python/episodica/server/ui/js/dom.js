/* Makes elements. Every text passes `visible` here, and none is ever read as markup. */
import { visible } from "./visible.js";

const SVG = "http://www.w3.org/2000/svg";
// What people edit stays as it was said.
const PROPERTIES = new Set(["value", "checked", "disabled", "selected"]);

/** `el("p", {class: "x", onclick}, "text", element, [more])`; the attributes may be left out. */
export function el(tag, ...rest) {
  return filled(document.createElement(tag), rest);
}

export function svg(tag, ...rest) {
  return filled(document.createElementNS(SVG, tag), rest);
}

function filled(node, rest) {
  const [first, ...others] = rest;
  const named = first && typeof first === "object" && !Array.isArray(first)
    && !(first instanceof Node);
  if (named) for (const [name, value] of Object.entries(first)) set(node, name, value);
  add(node, named ? others : rest);
  return node;
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (PROPERTIES.has(name)) node[name] = value;
  else node.setAttribute(name, value === true ? "" : visible(String(value)));
}

/** Appends texts, elements, and lists of them. */
export function add(node, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child instanceof Node ? child : visible(String(child)));
  }
}

export function replace(node, ...children) {
  node.replaceChildren();
  add(node, children);
}

// How long a word to everybody is seen.
const SEEN_MS = 6_000;
let hiding;

/** Tells screen readers what happened. */
export function announce(text) {
  const place = document.getElementById("announcer");
  place.textContent = "";
  place.className = "unseen";
  // A text that is the same again would not be read.
  setTimeout(() => { place.textContent = visible(text); }, 50);
}

/** Tells everybody what happened. */
export function tell(text) {
  announce(text);
  const place = document.getElementById("announcer");
  place.className = "toast";
  clearTimeout(hiding);
  hiding = setTimeout(() => { place.className = "unseen"; }, SEEN_MS);
}
