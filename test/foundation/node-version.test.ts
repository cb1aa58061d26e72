import { expect, it } from 'vitest'
import { isNode, needNode } from '../../lambdas/foundation/node-version.ts'

it.each([
  ['20.16', true],
  [`${Number(process.versions.node.split('.')[0])}.0`, true],
  ['99.0', false],
  [`${Number(process.versions.node.split('.')[0])}.999`, false],
] as const)('This Node is %s or newer: %s.', (wanted, is) => {
  expect(isNode(wanted)).toBe(is)
})

it('A Node that is too old is told which one is needed, and for what.', () => {
  expect(() => needNode('99.0', 'pushpop/engine')).toThrow(
    `Cannot go on because pushpop/engine needs Node 99.0 or newer, and this is ${process.version}`,
  )
})
