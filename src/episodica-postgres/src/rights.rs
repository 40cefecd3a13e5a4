//! Grants roles the right to read tenants.

use episodica_core::{Error, Result};
use tokio_postgres::types::Type;

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;

/// Tables and views that a reader needs: the tables with row-level security, the views over them,
/// and the store's metadata.
const READ: [&str; 8] =
    ["users", "log", "uses", "readers", "meta", "messages", "episodes", "facts"];

fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn table_list(schema: &str) -> String {
    READ.map(|table| format!("{schema}.{table}")).join(", ")
}

/// Lets a role read a tenant.
///
/// # Errors
/// `InvalidInput` if the role does not exist; `ReadOnly` if the caller's role may not grant;
/// `StoreUnavailable`.
pub(crate) fn grant_tenant(pool: &ConnectionPool, role: &str, tenant: &str) -> Result<()> {
    check_role(pool, role)?;
    let schema = &pool.address().schema;
    let rights = format!(
        "GRANT USAGE ON SCHEMA {schema} TO {0}; GRANT SELECT ON {1} TO {0}",
        quote_name(role),
        table_list(schema)
    );
    let enter = format!(
        "INSERT INTO {schema}.readers (role, tenant) VALUES ($1::text::name, $2) \
         ON CONFLICT DO NOTHING"
    );
    pool.repeat_request(async |client| {
        client.batch_execute(&rights).await?;
        let values = [(&role as _, Type::TEXT), (&tenant as _, Type::TEXT)];
        client.execute_typed(&enter, &values).await?;
        Ok(())
    })
}

/// Revokes a tenant from a role; with its last tenant, the role loses all rights to the tables.
///
/// # Errors
/// As [`grant_tenant`].
pub(crate) fn revoke_tenant(pool: &ConnectionPool, role: &str, tenant: &str) -> Result<()> {
    check_role(pool, role)?;
    let schema = &pool.address().schema;
    let remove =
        format!("DELETE FROM {schema}.readers WHERE role = $1::text::name AND tenant = $2");
    let left = format!("SELECT 1 FROM {schema}.readers WHERE role = $1::text::name LIMIT 1");
    let rights = format!(
        "REVOKE SELECT ON {1} FROM {0}; REVOKE USAGE ON SCHEMA {schema} FROM {0}",
        quote_name(role),
        table_list(schema)
    );
    pool.repeat_request(async |client| {
        let values = [(&role as _, Type::TEXT), (&tenant as _, Type::TEXT)];
        client.execute_typed(&remove, &values).await?;
        if client.query_typed_opt(&left, &values[..1]).await?.is_none() {
            client.batch_execute(&rights).await?;
        }
        Ok(())
    })
}

fn check_role(pool: &ConnectionPool, role: &str) -> Result<()> {
    let is_there = pool.repeat_request(async |client| {
        let text = "SELECT 1 FROM pg_roles WHERE rolname = $1::text";
        let row = client.query_typed_opt(text, &[(&role as _, Type::TEXT)]).await?;
        Ok::<_, DatabaseFailure>(row.is_some())
    })?;
    if is_there {
        return Ok(());
    }
    Err(Error::invalid(format!("the database has no role of this name: `{role}`"))
        .with_hint("create it with `CREATE ROLE`"))
}
