import { load } from './packages.ts'
import type { Addresses } from './peer.ts'

type Client = {
  connect(): Promise<void>
  query(text: string): Promise<{ readonly rows: readonly { readonly count: string }[] }>
  end(): Promise<void>
}

export const databaseUrl = (postgres: Addresses['postgres']): string =>
  `postgres://bench@127.0.0.1:${postgres?.port}/postgres`

/** Transactions so far: each statement outside of one counts as one. */
export async function commitsOf(connectionString: string): Promise<number> {
  const { Client } = load<{ Client: new (options: object) => Client }>('pg')
  const client = new Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(
    'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
  )
  await client.end()
  return Number(rows[0]?.count)
}
