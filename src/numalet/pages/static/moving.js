// Puts what differs between two versions of a page in its place: elements keep their identity, so
// focus, selection, scrolling, opened details and half-filled forms stay, and attributes that change
// can move by CSS.
// A key by which an element is found again; what has none is matched by its place.
function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.getAttribute("data-key") : null;
}

function isSame(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

function isKept(element, name) {
  // What the reader did stays: opened details, and pods that are lit up.
  return name === "open" && element.nodeName === "DETAILS";
}

function moveAttributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (!isKept(old, name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!isKept(old, name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
}

// The choices of a list follow the node; the one that the reader made stays, there or not.
function moveChoices(old, fresh) {
  const chosen = old.selectedOptions[0];
  const known = new Map([...old.options].map((each) => [each.value, each]));
  const wanted = [...fresh.options].map((each) => known.get(each.value) || document.importNode(each, true));
  if (chosen && !wanted.includes(chosen)) wanted.push(chosen);
  if (wanted.length === old.length && wanted.every((each, at) => each === old.options[at])) return;
  old.replaceChildren(...wanted);
  if (chosen) old.value = chosen.value;
}

export function move(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.nodeName === "SELECT") return moveChoices(old, fresh);
  if (["INPUT", "TEXTAREA"].includes(old.nodeName)) return;
  if (old.isEqualNode(fresh)) return;
  const isLit = old.classList.contains("lit");
  moveAttributes(old, fresh);
  if (isLit) old.classList.add("lit");
  moveChildren(old, fresh);
}

// Linear in the number of children: keyed ones by a map, others by their place. What has gone is
// removed first, so that what stays is in its place already, and only what moved is moved.
function moveChildren(old, fresh) {
  const stays = new Set();
  for (const child of fresh.childNodes) stays.add(keyOf(child));
  const keyed = new Map();
  for (const child of [...old.childNodes]) {
    const key = keyOf(child);
    if (key && !stays.has(key)) child.remove();
    else if (key) keyed.set(key, child);
  }
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted);
    const match = key ? keyed.get(key) : at;
    if (!match || !isSame(match, wanted)) {
      old.insertBefore(document.importNode(wanted, true), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    move(match, wanted);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
