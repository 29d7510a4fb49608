use superstep::State;

fn takes_one(_: &mut u64) {}
fn other_type(_: &mut String, _: String) {}
fn gives(old: u64, new: u64) -> u64 {
    old + new
}

#[derive(State, Clone, Default)]
struct Agent {
    #[reducer(with = takes_one)]
    a: u64,
    #[reducer(with = other_type)]
    b: u64,
    #[reducer(with = gives)]
    c: u64,
}

#[derive(State, Clone, Default)]
struct Unwritten {
    #[reducer(with)]
    a: u64,
    #[reducer(with = "quoted")]
    b: u64,
}

fn main() {}
