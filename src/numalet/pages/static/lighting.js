// Pointing at a pod, or moving the focus to it, lights every mark of it up: on the page of the
// dashboard and in files alike. A mark of a pod has the attribute data-pod.
const lit = "lit";

// The page of a pod has its pod lit up as long as no other is pointed at.
function light(pointedAt) {
  const uid = pointedAt || document.querySelector("[data-show-pod]")?.dataset.showPod || "";
  document.body.classList.toggle("some-lit", Boolean(uid));
  for (const mark of document.querySelectorAll("[data-pod]")) {
    mark.classList.toggle(lit, Boolean(uid) && mark.dataset.pod === uid);
  }
}

function uidAt(event) {
  const mark = event.target instanceof Element ? event.target.closest("[data-pod]") : null;
  return mark ? mark.dataset.pod : "";
}

document.addEventListener("pointerover", (event) => light(uidAt(event)));
document.addEventListener("focusin", (event) => light(uidAt(event)));
document.addEventListener("focusout", () => light(""));
document.addEventListener("numalet:shown", () => light(""));
light("");
