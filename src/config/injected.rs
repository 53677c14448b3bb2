//! Variables that Kubernetes sets in every container for each Service of its namespace. Those of a Service with the name
//! `fairshared`, or a name that begins with `fairshared-`, look like settings and are none.

use std::collections::BTreeMap;
use std::net::IpAddr;

const HOST_SUFFIX: &str = "_SERVICE_HOST";

/// The prefixes of the Services whose variables are among `variables`. A Service is recognised by the variable with the
/// address of its host: without that one, a variable that looks like the others is a misspelt setting.
pub fn services(variables: &BTreeMap<String, Option<String>>) -> Vec<String> {
    let address = |value: &Option<String>| value.as_ref().is_some_and(|text| text.parse::<IpAddr>().is_ok());
    let hosts = variables.iter().filter(|(_, value)| address(value));
    hosts.filter_map(|(name, _)| name.strip_suffix(HOST_SUFFIX).map(str::to_owned)).collect()
}

/// True if Kubernetes sets a variable `name` for `service`.
pub fn is_set_for(name: &str, service: &str) -> bool {
    let Some(rest) = name.strip_prefix(service) else { return false };
    let is_port_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    rest == HOST_SUFFIX
        || rest == "_SERVICE_PORT"
        || rest == "_PORT"
        || rest.strip_prefix("_SERVICE_PORT_").is_some_and(is_port_name)
        || rest.strip_prefix("_PORT_").is_some_and(is_address_part)
}

/// True for `8080_TCP`, or a part of such an address.
fn is_address_part(text: &str) -> bool {
    let mut parts = text.split('_');
    let port = parts.next().is_some_and(|port| port.parse::<u16>().is_ok());
    let protocol = parts.next().is_some_and(|protocol| ["TCP", "UDP", "SCTP"].contains(&protocol));
    let part = parts.next().is_none_or(|part| ["ADDR", "PORT", "PROTO"].contains(&part));
    port && protocol && part && parts.next().is_none()
}
