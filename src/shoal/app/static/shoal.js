// What the pages of Shoal need beyond NiceGUI: an upload that streams a file to the app as it is, a copy button, and what to do when
// the app is gone.
document.documentElement.lang ||= "en"; // older versions of NiceGUI leave it out

function shoalUpload(input) {
  const box = input.closest(".sh-drop");
  const says = box.querySelector(".sh-drop-says");
  const bar = box.querySelector("progress");
  const file = input.files[0];
  if (!file) return;
  const request = new XMLHttpRequest();
  request.open("PUT", "/upload?name=" + encodeURIComponent(file.name));
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
  for (const says of document.querySelectorAll(".sh-drop-says")) says.textContent = "It does not leave this machine.";
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
    const answer = await fetch("/static/shoal.css", { cache: "no-store" });
    if (answer.ok) {
      window.location.reload();
      return;
    }
    sentence = "Shoal was started again. Open the address that it has printed in the terminal; then this page goes on by itself.";
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
