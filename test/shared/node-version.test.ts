import { expect, it } from 'vitest'
import { needNode, nodeTooOld } from '../../shared/node-version.ts'

it.each([
  ['22.15', '22.15.0', false],
  ['22.15', '24.0.0', false],
  ['22.15', '22.14.9', true],
  ['22.15', '20.16.1', true],
] as const)('Where Node %s is needed, %s is too old: %s.', (wanted, running, is) => {
  expect(nodeTooOld(wanted, 'this', running) !== undefined).toBe(is)
})

it('If Node is too old, the error says which version is needed, for what, and what to do.', () => {
  expect(() => needNode('99.0', 'pushpop/engine')).toThrow(
    `Cannot go on because pushpop/engine needs Node 99.0 or newer, and this is ${process.version}; ` +
      'install a newer one from https://nodejs.org, switch to it with your version manager, or put it into your ' +
      'project: npm install --save-dev node@24',
  )
})
