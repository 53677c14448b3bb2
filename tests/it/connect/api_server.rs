//! The requests of a connector over HTTP.

use std::net::TcpListener;
use std::time::Duration;

use fairshared::cli::client::open_client;
use fairshared::config::Config;
use fairshared::connectors::api_server::ApiServer;
use fairshared::connectors::server::{FairShareServer, ServerFailure};

#[tokio::test]
async fn a_server_that_does_not_answer_is_away() {
    // The system accepts connections of a listener, and no program reads what they send.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut config = Config::settle(&[], None, []).unwrap();
    config.server = Some(address.parse().unwrap());
    let server = ApiServer::new(open_client(&config).await.unwrap()).with_timeout(Duration::from_millis(50));
    let away = ServerFailure::Away("the server did not answer within 0 seconds".to_owned());
    assert_eq!(server.find_group("g").await, Err(away.clone()));
    assert_eq!(server.key_rights().await, Err(away.clone()));
    assert_eq!(server.report_kernels("g", b"{}\n".to_vec()).await, Err(away));
}
