// A button with data-copies="ID" copies the address of the link with this id, and says so.
document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-copies]") : null;
  const link = button ? document.getElementById(button.dataset.copies) : null;
  if (!link) return;
  const said = document.getElementById("copied");
  try {
    await navigator.clipboard.writeText(link.href);
    said.textContent = "Copied.";
  } catch {
    said.textContent = "The browser does not allow it: copy the link itself.";
  }
});
