import { expect, test } from 'vitest'
import { checkNode } from '../../../local/stores/start-host.ts'

test('An error about an old Node says how to install a newer one.', () => {
  expect(() => checkNode('22.15.0')).toThrow(
    /need Node 24 or newer, and this is v22\.15\.0; .*: npm install --save-dev node@24$/,
  )
  checkNode('24.0.0')
  checkNode('25.1.0')
})
