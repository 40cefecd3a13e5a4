/* Addresses within the page: `#/user/alice/episode/ID`. Nothing of them reaches a server. */

export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

/** The parts of the present address; `null` if it can't be read. */
export function place() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
}

export function go(address) {
  if (location.hash === address) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}
