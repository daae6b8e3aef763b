//! The README and the book say what is true: their commands run and print what they show, and their links lead
//! somewhere.

mod blocks;
#[cfg(target_os = "linux")]
mod commands;
#[cfg(target_os = "linux")]
mod data;
mod links;
mod pages;
#[cfg(target_os = "linux")]
mod script;
mod structure;
