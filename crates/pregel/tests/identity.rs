//! Golden vectors of everything a task is known by outside the process. They may never change: idempotency keys that
//! were sent to a bank, and questions that wait for a person, are found again only by them.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use superstep_checkpoint::{
    Digest, Epoch, LineageId, Namespace, NamespaceKey, Step, TenantId, ThreadId, ThreadKey, Turn,
};
use superstep_pregel::{QuestionKey, TaskIdentity, TaskPath, TurnIdentity, digest, first_lineage};

fn key(tenant: &str, thread: &str, namespace: &str) -> NamespaceKey {
    let thread = ThreadKey { tenant: TenantId::new(tenant).unwrap(), thread: ThreadId::new(thread).unwrap() };
    thread.namespace(Namespace::new(namespace).unwrap())
}

fn turn() -> Turn {
    let digest = Digest::parse("000102030405060708090a0b0c0d0e0f").unwrap();
    Turn { lineage: LineageId::parse("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").unwrap(), digest, run: None }
}

fn task(step: i64, node: &str, path: TaskPath) -> TaskIdentity {
    TurnIdentity::new(&key("", "refund-17", ""), &turn()).task(Step(step), node, path)
}

macro_rules! is {
    ($got:expr, $wanted:literal $(,)?) => {
        assert_eq!($got.to_string(), $wanted)
    };
}

#[test]
fn lineages() {
    is!(first_lineage(Epoch(0)), "23ad0802b028108044646c170168846c");
    is!(first_lineage(Epoch(1)), "c016d655815a825109f1968ed9b7c3b3");
    is!(first_lineage(Epoch(u64::MAX)), "cfa5d23abf74e218d62e614c0313e722");
}

#[test]
fn tasks() {
    is!(task(1, "pay", TaskPath::Pull).id(), "5cc1f7a8a5c80cb0a4297da998d76611");
    is!(task(2, "pay", TaskPath::Pull).id(), "e082b37ba4b651701d1c508fa32e76b0");
    is!(task(1, "Zahlung ü", TaskPath::Pull).id(), "225c110978f3e82de27e5b39c461cf9e");
    is!(task(1, "pay", TaskPath::Push(0)).id(), "1906d24495c571a8c6cbdfd23f105e55");
    is!(task(1, "pay", TaskPath::Push(1)).id(), "f1854aeb4b462cc6ea74c592f8006ebd");
    is!(task(-1, "__start__", TaskPath::Pull).id(), "2b7d4a896f8c6dea0ed1a5a7294b8772");
}

#[test]
fn everything_before_the_task_counts() {
    let id = |key: NamespaceKey, turn: Turn| TurnIdentity::new(&key, &turn).task(Step(1), "pay", TaskPath::Pull).id();
    is!(id(key("acme", "refund-17", ""), turn()), "3a2e338e3a7c675609d2017bf9089be6");
    is!(id(key("", "refund-18", ""), turn()), "eae07ac207a6cbbc0ce6e71624f45a46");
    is!(id(key("", "refund-17", "sub:1"), turn()), "26e60b47c85bcd2abebaa72092fe58fe");
    is!(
        id(key("", "refund-17", ""), Turn { digest: Digest::from_bytes([0; 16]), ..turn() }),
        "6419e6a34cedc64b02dd8a4eb0ceb9bf",
    );
    is!(
        id(key("", "refund-17", ""), Turn { lineage: first_lineage(Epoch(0)), ..turn() }),
        "8e0405ac0fdfdc4e459f283e8f8df800",
    );
    // Where one part ends and the next begins counts too.
    is!(id(key("a", "bc", ""), turn()), "bd7f916157c2f9058d4b63c01e3a06aa");
    is!(id(key("ab", "c", ""), turn()), "084a81e31171ba0708128b291ed70867");
}

#[test]
fn questions_and_idempotency_keys() {
    let task = task(1, "pay", TaskPath::Pull);
    is!(task.question(&QuestionKey::Number(0)), "d922972ca88884f660703f0d2f87934c");
    is!(task.question(&QuestionKey::Number(1)), "bd94efe33d0b0f09a76a0f3cab806f25");
    is!(task.question(&QuestionKey::Name("approve".to_owned())), "98dcc00f7f124bacac8ba9965b3afb6d");
    is!(task.question(&QuestionKey::Name(String::new())), "ad6968a459e3258749deca8376f935fc");
    is!(task.idempotency_key("refund"), "2cbde4dd95d15ca6c83bc4d4fc75f0db");
    is!(task.idempotency_key(""), "b790bda1c1781477d88ff0dfd47ed022");
}

#[test]
fn digests() {
    is!(digest("input", &Value::Null), "cb59c03f87fd13e17f32dd782d15ac49");
    is!(digest("edit", &Value::Null), "93369a78a1059cdb0ad0825403c2f8aa");
    is!(digest("input", &json!(true)), "01aee628fa52ff8490857c2b7634e506");
    is!(digest("input", &json!(-7)), "81cf535d48806dc3506a45367de1da73");
    is!(digest("input", &json!(1.5)), "dea336843fac80ec06f140392daa129d");
    is!(digest("input", &json!(18_446_744_073_709_551_615_u64)), "a0526f851ea7af3b5e1011c7e993d9c4");
    is!(digest("input", &json!("é\"\n")), "e242e9c324a30c98648210c64af0186e");
    is!(digest("input", &json!(["a", ["b"], []])), "709dc36f37a5746f30a32f2cc480f749");
    is!(
        digest("input", &json!({ "updates": [{ "order": "A-17", "n": 1 }], "routes": [] })),
        "5db29fc3c3f4f62a84dddf334f557e96",
    );
    // The order of keys does not count, that of lists does; a text is no number, nothing is not null.
    let ab: Value = serde_json::from_str(r#"{"a":1,"b":2}"#).unwrap();
    let ba: Value = serde_json::from_str(r#"{"b":2,"a":1}"#).unwrap();
    assert_eq!(digest("input", &ab), digest("input", &ba));
    let differing = [json!([1, 2]), json!([2, 1]), json!(["1", 2]), json!([[1, 2]]), json!({ "a": null }), json!({})];
    for (i, one) in differing.iter().enumerate() {
        differing[..i].iter().for_each(|other| assert_ne!(digest("input", one), digest("input", other)));
    }
}
