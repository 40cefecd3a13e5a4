//! Runs attacks that may end the process in a child process: this test binary again, with one test.

use std::process::Command;

/// Runs `attack` in a child process; panics with the child's output if the child failed. `name` is
/// the name of the calling test, with its modules.
pub fn in_child(name: &str, attack: impl FnOnce()) {
    const CHILD: &str = "EPISODICA_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return attack();
    }
    let binary = std::env::current_exe().expect("a test has a binary");
    let child = Command::new(binary)
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(CHILD, "1")
        .output()
        .expect("a test can be started again");
    let told = String::from_utf8_lossy(&child.stdout);
    let failed = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{}\n{told}\n{failed}", child.status);
    assert!(told.contains("1 passed"), "no such test: {name}\n{told}");
}
