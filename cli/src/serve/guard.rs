//! Which requests are answered at all.

use std::net::IpAddr;

use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode};

use super::failure::Failure;

/// Refuses methods other than `GET` and `HEAD`, and requests to a local server under the name of another.
///
/// A page of any site can make a browser send requests to this machine. It cannot read the answers, because they are of
/// another origin; unless its own name is made to lead to this machine after it was loaded ("DNS rebinding"). Then the
/// browser sends that name as the host, by which such requests are known.
pub(super) fn check<B>(request: &Request<B>, is_local: bool) -> Result<(), Failure> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD: nothing can be changed here"));
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, more) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
    // A URL in the request takes precedence over the header, so it has to be right as well.
    let names: Vec<&str> = host.into_iter().chain(request.uri().authority().map(Authority::as_str)).collect();
    if host.is_none() || more.is_some() {
        return Err(Failure::bad_request("a request needs one header `Host`"));
    }
    if is_local && !names.iter().all(|name| is_this_machine(name)) {
        let message = "this server is for its own machine: its name is localhost, 127.0.0.1 or [::1]";
        return Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, message));
    }
    Ok(())
}

/// Whether a host, with any port or none, is a name or loopback address of this machine. Ports differ behind a tunnel.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) if port.is_empty() || is_port(port) => address,
        Some(_) => return false,
        None => match host.split_once(':') {
            Some((name, port)) if is_port(&format!(":{port}")) => name,
            Some(_) => return false,
            None => host,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        for host in ["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1:8000", "127.1.2.3", "[::1]", "[::1]:65535"] {
            assert!(is_this_machine(host), "{host}");
        }
        let others = ["", "example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1:80", "[::2]"];
        let odd = ["[::1", "[::1]x", "localhost:x", "localhost:1:2", "localhost:70000", "0.0.0.0", "user@localhost"];
        for host in others.into_iter().chain(odd) {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn requests() {
        let request = |method: &str, uri: &str, hosts: &[&str]| {
            let builder = Request::builder().method(method).uri(uri);
            let builder = hosts.iter().fold(builder, |builder, host| builder.header(HOST, *host));
            builder.body(()).expect("a request")
        };
        let ok = |method, uri, hosts: &[&str], is_local| check(&request(method, uri, hosts), is_local).is_ok();
        assert!(ok("GET", "/", &["localhost:8000"], true) && ok("HEAD", "/", &["127.0.0.1"], true));
        assert!(!ok("GET", "/", &["example.com"], true) && ok("GET", "/", &["example.com"], false));
        assert!(!ok("GET", "http://example.com/", &["localhost"], true));
        assert!(!ok("GET", "/", &[], true) && !ok("GET", "/", &["localhost", "localhost"], false));
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
            assert!(!ok(method, "/", &["localhost"], true), "{method}");
        }
    }
}
