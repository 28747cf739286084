// What the pages of Shoal need beyond NiceGUI: an upload that streams a file to the app as it is, and a copy button.
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
