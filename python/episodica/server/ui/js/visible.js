/* Texts as people may see them: the same rule as `episodica.visible`, which the tests compare. */
const FLAG = "\\u{1f3f4}[\\u{e0061}-\\u{e007a}]{1,6}\\u{e007f}";
const ACTING =
  "\\u007f-\\u009f\\u2028\\u2029\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u206f" +
  "\\ufff9-\\ufffb\\u{d800}-\\u{dfff}\\u{e0000}-\\u{e007f}";
const IN_LINES = new RegExp(
  `(${FLAG})|(\\r\\n)|[\\u0000-\\u0008\\u000b-\\u001f${ACTING}]`, "gu");

/** `text` with an escape for every character that acts instead of being seen. */
export function visible(text) {
  return text.replace(IN_LINES, (one, flag, end) => flag || (end ? "\n" : escaped(one)));
}

function escaped(one) {
  if (one === "\r") return "\\r";
  const code = one.codePointAt(0).toString(16);
  if (code.length <= 2) return "\\x" + code.padStart(2, "0");
  return code.length <= 4 ? "\\u" + code.padStart(4, "0") : "\\U" + code.padStart(8, "0");
}
