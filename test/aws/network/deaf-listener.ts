// Listens, and is stopped before it hears anybody: connections wait in its line until that is full.

import { type AddressInfo, createServer } from 'node:net'

const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.on('disconnect', () => process.exit())
