//! Several processes on one file. Each test starts this test program again, as its own child.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{before, change, id, key, put, rows, step, write};
use superstep_checkpoint::{At, Checkpointer, Commit, CommitError, Guard, Op, PartKind};
use superstep_checkpoint_sqlite::Sqlite;

/// What a child is to do, and with which file.
const ROLE: &str = "SUPERSTEP_TEST_ROLE";
const FILE: &str = "SUPERSTEP_TEST_FILE";
/// Tells the children of one test apart.
const NUMBER: &str = "SUPERSTEP_TEST_NUMBER";

const TASKS: usize = 8;
const STEPS: u64 = 50;

/// The entry of the children; does nothing in the parent.
#[test]
fn child() {
    let (Ok(role), Ok(file)) = (std::env::var(ROLE), std::env::var(FILE)) else { return };
    let number: usize = std::env::var(NUMBER).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "steps" => steps(Path::new(&file), number).await,
            "first use" => first_use(Path::new(&file), number).await,
            "records" => records(Path::new(&file)).await,
            "open" => open(Path::new(&file)).await,
            "fill" => fill(Path::new(&file)).await,
            "go on" => go_on(Path::new(&file)).await,
            other => panic!("no role {other}"),
        }
    });
}

fn command(role: &str, file: &Path, number: usize) -> Command {
    command_of(&std::env::current_exe().unwrap(), role, file, number)
}

fn command_of(program: &Path, role: &str, file: &Path, number: usize) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(FILE, file).env(NUMBER, number.to_string()).stdout(Stdio::piped());
    command
}

/// Runs so many children at once; all must succeed.
fn run(role: &str, file: &Path, children: usize) {
    let children: Vec<_> = (0..children).map(|number| command(role, file, number).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

async fn steps(file: &Path, number: usize) {
    let store = Sqlite::open(file).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            let thread = format!("{number}-{task}");
            for n in 1..=STEPS {
                store.commit(step(&thread, n)).await.unwrap();
                assert_eq!(store.get(&key(&thread), At::Head).await.unwrap().namespace.unwrap().head, id(n));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b036_two_processes_with_many_tasks_share_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    run("steps", &file, 2);
    assert_eq!(rows(&file, "PRAGMA integrity_check").await, ["ok"]);
    let store = Sqlite::open(&file).await.unwrap();
    for thread in (0..2).flat_map(|number| (0..TASKS).map(move |task| format!("{number}-{task}"))) {
        let found = store.get(&key(&thread), At::Head).await.unwrap().found.unwrap();
        assert_eq!(found.checkpoint.id, id(STEPS));
        assert_eq!(found.values[0].parts[0].bytes, STEPS.to_string());
    }
}

async fn first_use(file: &Path, number: usize) {
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..10 {
        let file = file.to_owned();
        tasks.spawn(async move {
            let store = Sqlite::options(file).busy_timeout(Duration::from_mins(1)).open().await.unwrap();
            store.commit(step(&format!("{number}-{task}"), 1)).await.unwrap();
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b089_ten_processes_with_ten_tasks_create_a_file_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    run("first use", &file, 10);
    assert_eq!(rows(&file, "SELECT version FROM superstep_migration").await, ["1"]);
    assert_eq!(rows(&file, "SELECT count(*) FROM superstep_thread").await, ["100"]);
    assert_eq!(rows(&file, "PRAGMA integrity_check").await, ["ok"]);
}

async fn records(file: &Path) {
    let store = Sqlite::open(file).await.unwrap();
    for _ in 0..3 {
        let writes = vec![write(1, "result"), write(2, "result")];
        let ops = vec![Op::PutWrites { checkpoint: id(1), writes }];
        store.commit(Commit { key: key("t"), guard: before(2), ops }).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b107_records_put_again_by_two_processes_and_after_reopening_are_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    Sqlite::open(&file).await.unwrap().commit(step("t", 1)).await.unwrap();
    run("records", &file, 2);
    run("records", &file, 1);
    let found = Sqlite::open(&file).await.unwrap().get(&key("t"), At::Head).await.unwrap().found.unwrap();
    assert_eq!(found.writes, [write(1, "result"), write(2, "result")]);
}

async fn open(file: &Path) {
    match Sqlite::open(file).await {
        Ok(_) => println!("opened"),
        Err(error) => println!("refused: {:?}", error.kind()),
    }
}

/// Programs that die while they open the file: whoever comes next opens it.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn b090_a_program_killed_while_it_prepares_the_file_leaves_it_usable() {
    for millis in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.db");
        let mut child = command("open", &file, 0).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(millis));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = Sqlite::open(&file).await.unwrap();
        store.commit(step("t", 1)).await.unwrap();
        assert_eq!(rows(&file, "SELECT version FROM superstep_migration").await, ["1"], "{millis} ms");
    }
}

/// Commits on several threads until killed, saying of each what is acknowledged.
async fn go_on(file: &Path) {
    let store = Sqlite::open(file).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 1.. {
                store.commit(step(&task.to_string(), n)).await.unwrap();
                println!("done: {task} {n}");
            }
        });
    }
    while tasks.join_next().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_before_a_kill_is_there() {
    use std::io::BufRead;
    for acknowledged in [1, 50, 333] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.db");
        let mut child = command("go on", &file, 0).spawn().unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut last = [0; TASKS];
        let mut count = |line: String| {
            let Some((task, n)) = line.rsplit_once("done: ").and_then(|(_, done)| done.split_once(' ')) else {
                return 0;
            };
            last[task.parse::<usize>().unwrap()] = n.parse::<u64>().unwrap();
            1
        };
        let mut seen = 0;
        while seen < acknowledged {
            seen += count(lines.next().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The last line may be cut off.
        lines.filter(|line| line.ends_with(|end: char| end.is_ascii_digit())).for_each(|line| _ = count(line));
        let store = Sqlite::open(&file).await.unwrap();
        for (task, last) in last.into_iter().enumerate() {
            let found = store.get(&key(&task.to_string()), At::Head).await.unwrap().found;
            let stored = found.map_or(0, |found| found.checkpoint.seq.0);
            assert!(stored == last || stored == last + 1, "{stored} {last}");
        }
        assert_eq!(rows(&file, "PRAGMA integrity_check").await, ["ok"]);
    }
}

/// Root may write everywhere, so the child becomes somebody else.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_only_be_read_is_denied() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    Sqlite::open(&file).await.unwrap().close().await;
    // Others may not reach the folder of this program.
    let program = dir.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    for (file_mode, dir_mode) in [(0o444, 0o777), (0o000, 0o777), (0o444, 0o555)] {
        mode(&file, file_mode);
        mode(dir.path(), dir_mode);
        let content = std::fs::read(&file);
        let mut command = command_of(&program, "open", &file, 0);
        if file.metadata().is_ok_and(|file| file.uid() == 0) {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("refused: Denied"), "{said}");
        mode(dir.path(), 0o755);
        assert_eq!(std::fs::read(&file).ok(), content.ok());
    }
}

/// Commits until the disk takes no more, then says how far it came.
async fn fill(file: &Path) {
    let store = Sqlite::open(file).await.unwrap();
    for n in 1_u64.. {
        let ops = vec![put(n, vec![change("x", PartKind::Base, vec![b'x'; 3000])])];
        let commit = Commit { key: key("t"), guard: before(n), ops };
        match store.commit(commit).await {
            Ok(()) => println!("done: {n}"),
            Err(CommitError::InDoubt { source, .. }) => return println!("in doubt: {source}"),
            Err(CommitError::Store(error)) => return println!("failed: {error}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// The system refuses writes beyond a size, in the middle of a commit.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_before_the_disk_failed_is_there() {
    for kilobytes in [301, 500, 777] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.db");
        let inner = command("fill", &file, 0);
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"")]);
        shell.arg(inner.get_program()).args(inner.get_args());
        shell.env(ROLE, "fill").env(FILE, &file).env(NUMBER, "0");
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("in doubt:") || said.contains("failed:"), "{said}");
        let done = said.lines().filter_map(|line| line.strip_prefix("done: ")?.parse::<u64>().ok()).max().unwrap();
        assert!(done > 5, "{said}");
        assert_eq!(rows(&file, "PRAGMA integrity_check").await, ["ok"]);
        let store = Sqlite::open(&file).await.unwrap();
        let last = store.get(&key("t"), At::Head).await.unwrap().namespace.unwrap().last_seq.0;
        assert!(last == done || (last == done + 1 && said.contains("in doubt:")), "{last}: {said}");
        let ops = vec![put(last + 1, Vec::new())];
        store.commit(Commit { key: key("t"), guard: Guard::head(before(last + 1).head), ops }).await.unwrap();
    }
}
