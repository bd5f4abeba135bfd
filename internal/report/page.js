
"use strict";
// The figure's values beside the pointer and the keyboard's focus. Without a
// script the browser shows each point's title instead.
(() => {
  const plot = document.getElementById("plot");
  const tip = document.getElementById("tip");
  if (plot) {
    // What has a title, the browser would show a second time.
    for (const svg of plot.querySelectorAll("svg")) {
      svg.setAttribute("aria-label", svg.querySelector("title").textContent);
      svg.removeAttribute("aria-labelledby");
      svg.setAttribute("aria-describedby", svg.querySelector("desc").id);
    }
    for (const title of plot.querySelectorAll("title")) title.remove();
    const hide = () => { tip.hidden = true; };
    const show = (event) => {
      const point = event.target.closest(".point");
      if (!point) return hide();
      tip.textContent = point.getAttribute("aria-label");
      tip.hidden = false;
      const box = plot.getBoundingClientRect();
      const at = point.querySelector(".hit").getBoundingClientRect();
      const left = at.left + at.width / 2 - box.left - tip.offsetWidth / 2;
      tip.style.left = Math.max(0, Math.min(left, box.width - tip.offsetWidth)) + "px";
      const above = at.top - box.top - tip.offsetHeight - 8;
      tip.style.top = (above < 0 ? at.bottom - box.top + 8 : above) + "px";
    };
    plot.addEventListener("mouseover", show);
    plot.addEventListener("mouseleave", hide);
    plot.addEventListener("focusin", show);
    plot.addEventListener("focusout", hide);
    plot.addEventListener("click", show);
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  }
  // On paper nothing can be opened.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of opened) d.open = false; });
})();
