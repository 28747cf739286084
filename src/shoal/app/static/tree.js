// Clicks and keys in a tree whose rows the server draws: the arrow keys walk and open, Enter opens and closes, Space chooses several.
(() => {
  const send = (box, act, node) => emitEvent(box.dataset.event, { act, node: Number(node) });
  const rowsOf = (box) => Array.from(box.querySelectorAll("[role=treeitem]"));
  const focusOn = (box, row) => {
    if (!row) return;
    rowsOf(box).forEach((other) => other.setAttribute("tabindex", other === row ? "0" : "-1"));
    box.shoalFocus = row.dataset.node ? "[data-node='" + row.dataset.node + "']" : "[data-more='" + row.dataset.more + "']";
    row.focus();
  };
  // When the rows are drawn anew, the focus goes back to where it was.
  const watch = (box) => {
    if (box.shoalWatched) return;
    box.shoalWatched = true;
    new MutationObserver(() => {
      if (document.activeElement !== document.body || !box.shoalFocus) return;
      const row = box.querySelector("[role=treeitem]" + box.shoalFocus) || box.querySelector("[aria-selected=true]") || rowsOf(box)[0];
      focusOn(box, row);
    }).observe(box, { childList: true });
  };
  document.addEventListener("focusin", (event) => {
    const box = event.target.closest && event.target.closest(".sh-tree");
    if (box) watch(box);
    else document.querySelectorAll(".sh-tree").forEach((other) => (other.shoalFocus = null));
  });
  document.addEventListener("click", (event) => {
    const box = event.target.closest(".sh-tree");
    const row = event.target.closest("[role=treeitem]");
    if (!box || !row) return;
    watch(box);
    focusOn(box, row);
    const act = event.target.dataset.act;
    if (row.dataset.more) {
      if (act && !event.target.disabled) send(box, act, row.dataset.more);
      return;
    }
    const several = act === "also" || event.ctrlKey || event.metaKey;
    send(box, act === "toggle" && row.hasAttribute("aria-expanded") ? "toggle" : several ? "also" : "choose", row.dataset.node);
  });
  document.addEventListener("dblclick", (event) => {
    const row = event.target.closest(".sh-tree [role=treeitem][aria-expanded]");
    if (row && !event.target.dataset.act) send(row.closest(".sh-tree"), "toggle", row.dataset.node);
  });
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest && event.target.closest(".sh-tree [role=treeitem]");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const box = row.closest(".sh-tree");
    const rows = rowsOf(box);
    const place = rows.indexOf(row);
    const isOpen = row.getAttribute("aria-expanded");
    const level = Number(row.getAttribute("aria-level"));
    const parent = rows.slice(0, place).reverse().find((other) => Number(other.getAttribute("aria-level")) < level);
    const more = row.dataset.more;
    const acts = {
      ArrowDown: () => focusOn(box, rows[place + 1]),
      ArrowUp: () => focusOn(box, rows[place - 1]),
      Home: () => focusOn(box, rows[0]),
      End: () => focusOn(box, rows[rows.length - 1]),
      ArrowRight: () => {
        if (more) send(box, "next", more);
        else if (isOpen === "false") send(box, "toggle", row.dataset.node);
        else if (isOpen === "true") focusOn(box, rows[place + 1]);
      },
      ArrowLeft: () => {
        if (more) send(box, "before", more);
        else if (isOpen === "true") send(box, "toggle", row.dataset.node);
        else focusOn(box, parent);
      },
      Enter: () => {
        if (more) send(box, "next", more);
        else send(box, isOpen === null ? "choose" : "toggle", row.dataset.node);
      },
      " ": () => !more && send(box, "also", row.dataset.node),
    };
    if (acts[event.key]) {
      event.preventDefault();
      box.shoalFocus = more ? "[data-more='" + more + "']" : "[data-node='" + row.dataset.node + "']";
      acts[event.key]();
    }
  });
})();
