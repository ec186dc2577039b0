//! A headless browser, driven over its remote debugging protocol by a pair of pipes.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// How long the browser may take for an answer, and the page for a state.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// The names that distributions give the browser.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

pub(crate) struct Browser {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// Errors that the page's script threw, and lines it logged.
    pub(crate) complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Returns the browser's program, if there is one.
pub(crate) fn program() -> Option<&'static str> {
    let runs =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    PROGRAMS.into_iter().find(|program| runs(program))
}

impl Browser {
    pub(crate) fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads requests from descriptor 3 and answers on 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", program]);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = child.stdin.take().unwrap();
        let mut pipe = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            while pipe.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                bytes.pop();
                let Ok(answer) = serde_json::from_slice(&bytes) else { return };
                if sender.send(answer).is_err() {
                    return;
                }
                bytes.clear();
            }
        });
        let (session, complaints) = (None, Vec::new());
        let mut browser = Self { child, requests, answers, session, number: 0, complaints, _profile: profile };
        // Of its own: the one that the browser opens by itself may not be there yet.
        let page = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime.enable", "Page.enable", "Log.enable"] {
            browser.call(domain, &json!({}));
        }
        browser.size(1_280, 900);
        browser
    }

    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.number += 1;
        let mut request = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.number {
                let (result, error) = (answer["result"].clone(), answer["error"].clone());
                return if error.is_null() { Ok(result) } else { Err(error) };
            }
            if ["Runtime.exceptionThrown", "Log.entryAdded"].iter().any(|name| answer["method"] == *name) {
                self.complaints.push(answer["params"].to_string());
            }
        }
    }

    /// Returns the value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        self.try_value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_value(&mut self, expression: &str) -> Result<Value, Value> {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.try_call("Runtime.evaluate", &parameters)?;
        if result["exceptionDetails"].is_null() { Ok(result["result"]["value"].clone()) } else { Err(result) }
    }

    /// Waits until an expression in the page is true. Between two pages there is none, and it has no value.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        for _ in 0..PATIENCE.as_millis() / POLL.as_millis() {
            if self.try_value(expression).is_ok_and(|value| value == true) {
                return;
            }
            thread::sleep(POLL);
        }
        let state = self.try_value(
            "JSON.stringify([conclave.run.state?.now, conclave.run.state?.leaders, conclave.run.playing,
             document.getElementById('problem').textContent])",
        );
        panic!("never true: {expression}; {state:?}; {:?}", self.complaints);
    }

    pub(crate) fn open(&mut self, address: &str) {
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        self.call("Page.navigate", &json!({ "url": address }));
        self.wait_for("document.documentElement?.dataset?.ready === 'yes' && conclave.settled()");
    }

    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    pub(crate) fn prefer(&mut self, feature: &str, value: &str) {
        let features = json!({ "features": [{ "name": feature, "value": value }] });
        self.call("Emulation.setEmulatedMedia", &features);
    }

    /// Clicks an element.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const element = document.querySelector({selector:?}); element.scrollIntoView({{ block: 'center' }});
             const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let place = self.value(&place);
        self.drag(&[[place[0].as_f64().unwrap(), place[1].as_f64().unwrap()]]);
    }

    /// Presses the pointer at the first place of a path, moves it along, and lets go at the last.
    pub(crate) fn drag(&mut self, path: &[[f64; 2]]) {
        let mut mouse = |kind: &str, [x, y]: [f64; 2], buttons: u8| {
            let button = if buttons == 1 || kind == "mouseReleased" { "left" } else { "none" };
            let event = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event);
        };
        mouse("mouseMoved", path[0], 0);
        mouse("mousePressed", path[0], 1);
        path[1..].iter().for_each(|&place| mouse("mouseMoved", place, 1));
        mouse("mouseReleased", path[path.len() - 1], 0);
    }

    /// Presses a key.
    pub(crate) fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key }));
        }
    }

    /// Returns a picture of what is visible, as base64 of a PNG.
    pub(crate) fn screenshot(&mut self) -> String {
        self.call("Page.captureScreenshot", &json!({ "format": "png" }))["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let close = json!({ "id": u32::MAX, "method": "Browser.close" });
        let _ = self.requests.write_all(format!("{close}\0").as_bytes());
        for _ in 0..100 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
