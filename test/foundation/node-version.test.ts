import { expect, it } from 'vitest'
import { needNode, nodeTooOld } from '../../lambdas/foundation/node-version.ts'

it.each([
  ['20.16', '20.16.0', false],
  ['20.16', '22.0.1', false],
  ['22.15', '22.9.0', true],
  ['22.15', '20.20.2', true],
] as const)('Where Node %s is needed, %s is too old: %s.', (wanted, running, is) => {
  expect(nodeTooOld(wanted, 'it', running) !== undefined).toBe(is)
})

it('A Node that is too old is told which one is needed, and for what.', () => {
  expect(() => needNode('99.0', 'pushpop/engine')).toThrow(
    `pushpop/engine needs Node 99.0 or newer, and this is ${process.version}`,
  )
})
