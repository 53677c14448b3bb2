//! Variables that Kubernetes puts into every container for each Service of its namespace. Those of a Service called
//! `fairshared`, or `fairshared-` and something, look like settings and are none.

use std::collections::BTreeMap;
use std::net::IpAddr;

const HOST: &str = "_SERVICE_HOST";

/// The Services whose variables are among `variables`, as these spell them. A Service is known by the address of its
/// host: without it, a variable that looks like one of the others is a misspelt setting.
pub fn services(variables: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let address = |value: &Option<String>| value.as_ref().is_some_and(|text| text.parse::<IpAddr>().is_ok());
    let hosts = variables.iter().filter(|(_, value)| address(value));
    hosts.filter_map(|(name, _)| name.strip_suffix(HOST).map(str::to_owned)).collect()
}

/// Whether `name` is what Kubernetes calls a variable of `service`.
pub fn belongs(name: &str, service: &str) -> bool {
    let Some(rest) = name.strip_prefix(service) else { return false };
    let is_port_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    rest == HOST
        || rest == "_SERVICE_PORT"
        || rest == "_PORT"
        || rest.strip_prefix("_SERVICE_PORT_").is_some_and(is_port_name)
        || rest.strip_prefix("_PORT_").is_some_and(is_address_part)
}

/// `8080_TCP`, or a part of that address.
fn is_address_part(text: &str) -> bool {
    let mut parts = text.split('_');
    let port = parts.next().is_some_and(|port| port.parse::<u16>().is_ok());
    let protocol = parts.next().is_some_and(|protocol| ["TCP", "UDP", "SCTP"].contains(&protocol));
    let part = parts.next().is_none_or(|part| ["ADDR", "PORT", "PROTO"].contains(&part));
    port && protocol && part && parts.next().is_none()
}
