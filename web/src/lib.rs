//! The simulator as a WebAssembly module without imports: a page writes a question into its memory and reads the answer.
//!
//! 1. `input(length)` returns where to write a question of so many bytes.
//! 2. `ask()` answers it, and returns the length of the answer.
//! 3. `output()` returns where the answer begins.
//!
//! Questions and answers are JSON (`host_sim::play`).

#![expect(unsafe_code, reason = "the names of functions that a page calls are not mangled")]

use host_sim::play::{Play, answer};
use std::cell::RefCell;

#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: String,
    play: Option<Play>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Returns where to write a question of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input = vec![0; length];
        state.input.as_mut_ptr()
    })
}

/// Answers the question; returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    STATE.with_borrow_mut(|State { input, output, play }| {
        *output = answer(play, &String::from_utf8_lossy(input));
        output.len()
    })
}

/// Returns where the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}
