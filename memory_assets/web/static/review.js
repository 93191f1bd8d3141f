"use strict";
// Keyboard shortcuts and selection. Everything works without this script, too.
(() => {
  const boxes = () => [...document.querySelectorAll('.row input[type="checkbox"]')];
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const count = document.querySelector("[data-count]");
  let at = -1;

  const recount = () => {
    if (count) count.textContent = boxes().filter((b) => b.checked).length + " selected";
  };

  const move = (step) => {
    const all = rows();
    if (!all.length) return false;
    if (at >= 0) all[at].classList.remove("here");
    at = Math.min(Math.max(at + step, 0), all.length - 1);
    all[at].classList.add("here");
    all[at].scrollIntoView({ block: "nearest" });
    return true;
  };

  const press = (key) => {
    const target = document.querySelector('[data-key="' + CSS.escape(key) + '"]');
    if (!target) return false;
    if (target.tagName === "SUMMARY") {
      target.parentElement.open = true;
      target.parentElement.querySelector("input:not([type=hidden])").focus();
    } else {
      target.click();
    }
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    let done = false;
    if (rows().length && event.key === "j") done = move(1);
    else if (rows().length && event.key === "k") done = move(-1);
    else if (at >= 0 && event.key === "x") {
      const box = rows()[at].querySelector('input[type="checkbox"]');
      if (box) { box.checked = !box.checked; recount(); }
      done = true;
    } else if (at >= 0 && event.key === "Enter" && event.target === document.body) {
      const link = rows()[at].querySelector("a");
      if (link) link.click();
      done = true;
    } else done = press(event.key);
    if (done) event.preventDefault();
  });

  document.addEventListener("change", recount);
  for (const button of document.querySelectorAll("[data-select]")) {
    button.addEventListener("click", () => {
      for (const box of boxes()) box.checked = button.dataset.select === "all";
      recount();
    });
  }
  recount();
})();
