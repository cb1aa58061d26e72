// Stands between a client and a store and lets connections die as they do when processes freeze and
// networks forget.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type NetworkProxy = {
  /** Use it in place of the store's; TLS passes through unchanged. */
  readonly endpoint: string
  /** How many connections were made in all, and how many are open now. */
  readonly made: number
  readonly open: number
  /**
   * A device on the way forgets all current connections silently. It answers later packets with a reset,
   * or not at all.
   */
  forget(how: 'reset' | 'dropped'): void
  /** The other end closes or resets all connections of now; resolves when the news has arrived. */
  end(how: 'closed' | 'reset'): Promise<void>
  /** From now on an answer stops after this many bytes; `undefined`: it comes whole. */
  stallAfter(bytes: number | undefined): void
  close(): Promise<void>
}

export async function startNetworkProxy(storeEndpoint: string): Promise<NetworkProxy> {
  const store = new URL(storeEndpoint)
  const clients = new Set<Socket>()
  const forgotten = new WeakMap<Socket, 'reset' | 'dropped'>()
  let made = 0
  let stalledAt: number | undefined

  const server = createServer({ allowHalfOpen: true }, (client) => {
    made += 1
    clients.add(client)
    const upstream = connect(Number(store.port), store.hostname)
    let answered = 0
    client.on('data', (data) => {
      const fate = forgotten.get(client)
      // The other end also resets connections that it has closed itself.
      if (fate === 'reset' || client.writableEnded) client.resetAndDestroy()
      else if (fate === undefined) {
        answered = 0
        upstream.write(data)
      }
    })
    upstream.on('data', (data) => {
      const room = stalledAt === undefined ? data.length : Math.max(0, stalledAt - answered)
      answered += data.length
      if (!client.writableEnded) client.write(data.subarray(0, room))
    })
    client.on('end', () => client.end())
    client.on('close', () => {
      clients.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => client.destroy())
    // That side has hung up.
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return {
    endpoint: `${store.protocol}//127.0.0.1:${port}`,
    get made() {
      return made
    },
    get open() {
      return clients.size
    },
    forget(how) {
      for (const client of clients) forgotten.set(client, how)
    },
    async end(how) {
      await Promise.all(
        [...clients].map((client) => {
          if (how === 'closed') return new Promise<void>((resolve) => client.end(() => resolve()))
          client.resetAndDestroy()
          return once(client, 'close')
        }),
      )
      // Packets of one machine keep their order: when this connection is made, the news is there.
      const probe = connect(port, '127.0.0.1')
      await once(probe, 'connect')
      probe.destroy()
    },
    stallAfter(bytes) {
      stalledAt = bytes
    },
    async close() {
      for (const client of clients) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
