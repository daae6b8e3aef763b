//! `oxiblosc serve`, over real connections.

mod clients;
mod ranges;
mod refused;
mod server;
mod slices;
