//! Answers that do not fit.

use superstep::{Command, CompiledGraph, NodeError, NodeResult, QuestionId, RunErrorKind, Runtime, START, StateGraph};

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said};

async fn asking(store: &Store, entries: &Entries) -> CompiledGraph<Trail> {
    let entries = entries.clone();
    StateGraph::<Trail>::new()
        .node("ask", move |rt: Runtime| {
            entries.enter("ask");
            async move { Ok::<_, NodeError>(said(rt.interrupt::<u8>("how many?")?.to_string())) }
        })
        .edge(START, "ask")
        .checkpointer(store.open().await)
        .compile()
        .unwrap()
}

on_each_store!(
    an_answer_of_the_wrong_type_is_refused_and_the_question_stays_open,
    an_answer_to_an_unknown_question_is_refused,
    an_empty_answer_is_refused,
    a_second_answer_is_refused,
    a_plain_answer_to_several_questions_is_refused,
);

async fn an_answer_of_the_wrong_type_is_refused_and_the_question_stays_open(store: Store) {
    let entries = Entries::default();
    let graph = asking(&store, &entries).await;
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    let wrong = [pause.answer("three"), pause.answer(true), pause.answer(300), pause.answer(None::<u8>)];
    for resume in wrong.into_iter().chain([Command::resume(-1)]) {
        let error = graph.invoke(resume, "t").await.unwrap_err();
        let RunErrorKind::WrongAnswer { question, .. } = error.kind() else { panic!("{error}") };
        assert_eq!(*question, pause.interrupts()[0].id);
    }
    assert_eq!(entries.of("ask"), 1, "no node ran");
    assert_eq!(graph.state("t").await.unwrap().interrupts.len(), 1);
    assert_eq!(graph.invoke(pause.answer(3), "t").await.done().told(), "3");
}

async fn an_answer_to_an_unknown_question_is_refused(store: Store) {
    let entries = Entries::default();
    let graph = asking(&store, &entries).await;
    let other = QuestionId::from_bytes([9; 16]);
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    let error = graph.invoke(Command::answers([(other, 1)]), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::UnknownQuestion(id) if *id == other), "{error}");
    // One that is known beside it is not taken either.
    let error = graph.invoke(Command::answers([(pause.interrupts()[0].id, 1), (other, 1)]), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::UnknownQuestion(_)), "{error}");
    // A question of another thread is not one of this.
    let elsewhere = graph.invoke(TrailUpdate::new(), "u").await.pause();
    assert_ne!(elsewhere.interrupts()[0].id, pause.interrupts()[0].id);
    let error = graph.invoke(elsewhere.answer(1), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::UnknownQuestion(_)), "{error}");
    assert_eq!(entries.of("ask"), 2);
    assert_eq!(graph.invoke(pause.answer(3), "t").await.done().told(), "3");
}

async fn an_empty_answer_is_refused(store: Store) {
    let graph = asking(&store, &Entries::default()).await;
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    let error = graph.invoke(Command::answers::<u8>([]), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::EmptyAnswers), "{error}");
    assert_eq!(graph.invoke(pause.answer(3), "t").await.done().told(), "3");
}

async fn a_second_answer_is_refused(store: Store) {
    let graph = asking(&store, &Entries::default()).await;
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    graph.invoke(pause.answer(3), "t").await.done();
    let error = graph.invoke(pause.answer(4), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::AlreadyAnswered(_)), "{error}");
    assert_eq!(graph.state("t").await.unwrap().state.told(), "3");
}

async fn a_plain_answer_to_several_questions_is_refused(store: Store) {
    let ask = async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("name?")?)) };
    let graph = StateGraph::<Trail>::new()
        .node("one", ask)
        .node("two", ask)
        .edge(START, "one")
        .edge(START, "two")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    for plain in [Command::resume("x"), pause.answer("x")] {
        let error = graph.invoke(plain, "t").await.unwrap_err();
        let RunErrorKind::AmbiguousAnswer { open } = error.kind() else { panic!("{error}") };
        assert_eq!(open, &pause.interrupts().iter().map(|asked| asked.id).collect::<Vec<_>>());
    }
    let both = Command::answers(pause.interrupts().iter().map(|asked| (asked.id, asked.node.as_str())));
    assert_eq!(graph.invoke(both, "t").await.done().told(), "one two");
}
