// Each example is run as its page says, in a process of its own, and must say what the page promises.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

async function linesOf(example: string): Promise<string[]> {
  const args = ['scripts/bootstrap.mjs', `examples/${example}/main.ts`]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
  return stdout.trimEnd().split('\n')
}

it('Webhooks reach each tenant in order; one that fails holds up no other, and dead letters go back.', async () => {
  const lines = await linesOf('webhooks')
  const inOrder = '(order.created, order.paid, order.shipped)'
  const [first, last] = [lines.indexOf('Dead letters:'), lines.length]
  const before = lines.slice(0, first)
  expect(before).toContain(`  shop: 3 of 3 arrived, in 3 requests ${inOrder}`)
  expect(before).toContain(`  bank: 3 of 3 arrived, in 5 requests ${inOrder}`)
  expect(before).toContain('  gone: 0 of 3 arrived, in 3 requests')
  expect(before).toContain('  down: 0 of 3 arrived, in 9 requests')
  const dead = lines.slice(first + 1, lines.indexOf('', first))
  expect(dead).toHaveLength(6)
  expect(dead).toContain('  gone: order.paid, after 1 tries: the endpoint answered 410')
  expect(dead).toContain(
    '  down: order.paid, after 3 tries: max_deliveries: the endpoint answered 500',
  )
  const after = lines.slice(last - 4)
  expect(after).toContain(`  down: 3 of 3 arrived, in 12 requests ${inOrder}`)
})

it('Each device carries out its commands in order, though one is out of reach for a while.', async () => {
  const lines = await linesOf('devices')
  const steps = 'close valve, rinse, fill, heat, open valve'
  for (const device of ['pump-1', 'pump-2', 'pump-3']) {
    expect(lines).toContain(`  ${device}: ${steps} (in order)`)
  }
  expect(lines).toContain('  pump-2 is out of reach: "fill" waits, and all behind it')
})

it('An order and its mail are stored together, and a repeated order sends no second mail.', async () => {
  const lines = await linesOf('outbox')
  expect(lines.filter((line) => line.endsWith(': placed'))).toHaveLength(9)
  expect(lines).toContain('Order 1: there already')
  expect(lines.filter((line) => line.startsWith('  mail '))).toHaveLength(9)
  expect(lines.at(-1)).toBe('9 mails for 9 orders.')
})

it('Calls of a partner’s API wait for their turns, and the partner refuses none, however busy this machine is.', async () => {
  const lines = await linesOf('partner-api')
  expect(lines.at(-2)).toMatch(
    /^All 20 calls were made by 2 workers, ([4-9]|10) in the busiest second\.$/,
  )
  expect(lines.at(-1)).toBe('The partner refused 0.')
})
