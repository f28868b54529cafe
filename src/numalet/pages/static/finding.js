// The find box of a file: what is typed gets a ring in every drawing, and its own words are said.
const box = document.getElementById("find");
const plain = (words) => words.toLowerCase().replace(/[\s_-]/g, "");

function marksOf(words) {
  const wanted = plain(words);
  const marks = [...document.querySelectorAll("svg [data-cpu], svg [data-device], svg [data-pod]")];
  const cpu = /^(?:cpu)?(\d+)$/.exec(wanted);
  if (cpu) return marks.filter((mark) => mark.dataset.cpu === cpu[1]);
  const devices = marks.filter(({ dataset }) => [dataset.device, dataset.called].some((name) => name && plain(name) === wanted));
  if (devices.length) return devices;
  const rows = [...document.querySelectorAll("tr[data-pod]")];
  const found = rows.filter((row) => row.cells[0].textContent.toLowerCase().includes(words.toLowerCase()));
  const uids = new Set(found.map((row) => row.dataset.pod));
  // Adjacent CPUs of a pod have one outline in common.
  return marks.filter((mark) => uids.has(mark.dataset.pod) && !mark.dataset.cpu);
}

// The ring is above all marks, and its ground makes it visible on those of its own colour.
function ring(mark) {
  for (const name of mark ? ["found-ground", "found"] : []) {
    const drawn = mark.cloneNode(false);
    drawn.removeAttribute("id");
    for (const each of Object.keys(drawn.dataset)) delete drawn.dataset[each];
    drawn.setAttribute("class", `${name} sought`);
    mark.ownerSVGElement.append(drawn);
  }
}

box.addEventListener("input", () => {
  const words = box.value.trim();
  const marks = words ? marksOf(words) : [];
  for (const ring of document.querySelectorAll(".sought")) ring.remove();
  for (const mark of marks) ring(mark.matches("rect") ? mark : mark.querySelector("rect"));
  const said = new Set(marks.map((mark) => mark.querySelector("title")?.textContent).filter(Boolean));
  const answer = said.size ? [...said].slice(0, 3).join("; ") : `Nothing on this page is called ${words}.`;
  document.getElementById("found").textContent = words ? answer : "";
});
