use superstep::State;

#[derive(State, Clone)]
enum Choice {
    A,
}

#[derive(State, Clone, Default)]
struct Tuple(u64);

#[derive(State, Clone, Default)]
struct Unit;

#[derive(State, Clone, Default)]
struct Generic<T> {
    value: T,
}

#[derive(State, Clone, Default)]
struct Borrows<'a> {
    text: &'a str,
}

fn main() {}
