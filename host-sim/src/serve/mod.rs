//! The page: its files, and a server for this machine alone.

mod http;
mod site;

pub(crate) use http::Server;
pub(crate) use site::Site;
