// What the pages of Shoal need beyond NiceGUI: an upload that streams a file to the app as it is, a copy button, and what to do when
// the app is gone.
document.documentElement.lang ||= "en"; // older versions of NiceGUI leave it out

// An address of the app: behind a proxy it may lie in a folder.
function shoalAddress(path) {
  return (window.path_prefix || "") + path;
}

function shoalUpload(input) {
  const box = input.closest(".sh-drop");
  const says = box.querySelector(".sh-drop-says");
  const bar = box.querySelector("progress");
  const file = input.files[0];
  if (!file) return;
  const request = new XMLHttpRequest();
  request.open("PUT", shoalAddress("/upload?name=") + encodeURIComponent(file.name));
  request.upload.onprogress = (event) => {
    if (event.lengthComputable) bar.value = event.loaded / event.total;
  };
  const failed = (sentence) => {
    bar.hidden = true;
    input.value = "";
    says.textContent = sentence;
    box.classList.add("sh-drop-failed");
  };
  if (file.size > Number(box.dataset.limit)) {
    failed(box.dataset.tooLarge);
    return;
  }
  request.onerror = () => failed("The upload broke off; nothing was kept. Try it again.");
  request.onload = () => {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch (error) {
      /* a sentence follows */
    }
    if (request.status !== 200 || !answer.name) {
      failed(answer.error || "The upload was refused; nothing was kept.");
      return;
    }
    bar.hidden = true;
    input.value = "";
    says.textContent = file.name + " has arrived; looking at it…";
    emitEvent(box.dataset.event, { name: answer.name });
  };
  box.classList.remove("sh-drop-failed");
  says.textContent = "Copying " + file.name + " into the workspace…";
  bar.hidden = false;
  bar.value = 0;
  request.send(file);
}

function shoalDropAgain() {
  for (const says of document.querySelectorAll(".sh-drop-says")) {
    says.textContent = says.closest(".sh-drop").dataset.hint;
  }
}

function shoalCopy(button) {
  const text = document.getElementById(button.dataset.of).textContent;
  const done = () => {
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = before), 1500);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done);
}

// When the app is gone: say what to do, and go on as soon as it is there again and this browser was let in.
async function shoalLook() {
  const gone = window.socket && !window.socket.connected && performance.now() > 4000; // time to connect at first
  let box = document.querySelector(".sh-gone");
  if (!gone) {
    box?.remove();
    return;
  }
  let sentence = "Shoal does not answer: it was closed, or is busy. If it was closed, start it again with shoal app, in the same folder.";
  try {
    const answer = await fetch(shoalAddress("/static/shoal.css"), { cache: "no-store" });
    if (answer.ok) {
      window.location.reload();
      return;
    }
    sentence = "Shoal was started again. Open its address with the token once more; then this page goes on by itself.";
  } catch (error) {
    /* nobody listens there */
  }
  if (!box) {
    box = document.createElement("div");
    box.className = "sh-gone";
    box.setAttribute("role", "alert");
    document.body.append(box);
  }
  if (box.textContent !== sentence) box.textContent = sentence;
}
setInterval(shoalLook, 2000);

// A page is built before it is sent. Where that takes a while, the page that is left says what is going on.
function shoalLeaving() {
  if ((document.activeElement?.href || "").includes("/jobs/")) return; // a file to save, and no page
  const box = document.createElement("div");
  box.className = "sh-leaving";
  box.setAttribute("role", "status");
  document.body.append(box);
  setTimeout(() => (box.textContent = "Opening the page: what it shows is being worked out…"), 250);
  setTimeout(() => box.remove(), 15000);
  window.addEventListener("pageshow", () => box.remove(), { once: true }); // one came back to it
}
window.addEventListener("beforeunload", shoalLeaving);

// Charts. What they say is text from files: it is escaped before it becomes part of a tooltip.
function shoalTip(params) {
  const said = document.createElement("span");
  said.textContent = (params.data && params.data.tip) || "";
  return said.innerHTML;
}

function shoalPercent(value) {
  return Math.round(value * 1000) / 10 + "%";
}

function shoalFigure(params) {
  return params.data.figure;
}

// Arrow keys go from value to value of a chart: its tooltip is shown, and those who do not see it hear it. Escape hides it.
function shoalWalk(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: 0, Escape: 0 }[event.key];
  const box = event.currentTarget;
  const chart = getElement(Number(box.dataset.chart))?.chart;
  if (step === undefined || !chart) return;
  event.preventDefault();
  if (event.key === "Escape") {
    chart.dispatchAction({ type: "hideTip" });
    return;
  }
  const places = [];
  chart.getOption().series.forEach((one, seriesIndex) => {
    if (!one.silent) one.data.forEach((point, dataIndex) => places.push({ seriesIndex, dataIndex, tip: point.tip }));
  });
  if (!places.length) return;
  const before = box.dataset.at === undefined ? -1 : Number(box.dataset.at);
  const at = event.key === "Home" ? 0 : Math.min(places.length - 1, Math.max(0, before + step));
  box.dataset.at = at;
  chart.dispatchAction({ type: "showTip", seriesIndex: places[at].seriesIndex, dataIndex: places[at].dataIndex });
  const says = box.parentElement.querySelector(".sh-figure-says");
  if (says) says.textContent = places[at].tip;
}
