// The charts of the history have one cursor: a slider, for the keyboard and for touch, which a pointer
// over a chart moves too. The figures are then those of its time, and the events about it are marked.
let chosen = null; // In seconds since the epoch: the charts may move on meanwhile.

function clock(moment) {
  return `${new Date(moment * 1000).toISOString().slice(11, 19)} (UTC)`;
}

function stepAt(steps, moment) {
  let label = "not known";
  for (const step of steps.split(";")) {
    const [at] = step.split(" ", 1);
    if (!step || Number(at) > moment) break;
    label = step.slice(at.length + 1);
  }
  return label;
}

function mark(reach) {
  const rows = [...document.querySelectorAll("tr[data-at]")];
  for (const row of rows) row.classList.toggle("near", Math.abs(Number(row.dataset.at) - chosen) <= reach);
  return rows.filter((row) => row.classList.contains("near"));
}

function show(scrolls) {
  const charts = document.querySelector(".over-time");
  if (!charts || chosen === null) return;
  const [start, end, left] = ["start", "end", "left"].map((name) => Number(charts.dataset[name]));
  const share = Math.min(Math.max((chosen - start) / (end - start), 0), 1);
  const [slider, line] = [charts.querySelector("input"), charts.querySelector(".at")];
  slider.value = share * slider.max;
  line.hidden = false;
  line.style.left = `${100 * (left + share * (1 - left))}%`;
  const figures = [];
  for (const strip of charts.querySelectorAll("[data-steps]")) {
    const label = stepAt(strip.dataset.steps, chosen);
    strip.querySelector(".now").textContent = label;
    figures.push(`${strip.dataset.series} ${label}`);
  }
  const near = mark((end - start) / 48);
  const count = near.length === 1 ? "1 event" : `${near.length} events`;
  charts.querySelector("output").textContent = `${clock(chosen)}: ${count} about then.`;
  slider.setAttribute("aria-valuetext", [`${clock(chosen)}, ${count}`, ...figures].join("; "));
  const box = near[0]?.closest(".wide");
  if (box && scrolls) box.scrollTop = near[0].offsetTop - box.querySelector("thead").offsetHeight;
}

function choose(share) {
  const { start, end } = document.querySelector(".over-time").dataset;
  chosen = Number(start) + share * (end - start);
  show(true);
}

function point(event) {
  const plots = event.target instanceof Element ? event.target.closest(".plots") : null;
  if (!plots) return;
  const { left, width } = plots.getBoundingClientRect();
  const before = Number(plots.parentElement.dataset.left);
  choose(Math.min(Math.max(((event.clientX - left) / width - before) / (1 - before), 0), 1));
}

document.addEventListener("pointermove", point);
document.addEventListener("pointerdown", point);
document.addEventListener("input", (event) => {
  if (event.target.closest(".over-time")) choose(event.target.value / event.target.max);
});
document.addEventListener("numalet:shown", () => show(false));
