import { expect, it } from 'vitest'
import { PushPopError } from '../../../client/errors.ts'
import { QueueError } from '../../../shared/errors.ts'
import { inShort } from '../../../shared/worker/retries.ts'

const unreachable = new PushPopError('NETWORK_ERROR', 'Cannot connect to http://localhost:8000')

it('What a request met is one line on the console.', () => {
  expect(inShort('look', unreachable)).toBe(
    'Cannot connect to http://localhost:8000 (NETWORK_ERROR)',
  )
  expect(inShort('request', new QueueError('BUSY', 'Try again'))).toBe('Try again (BUSY)')
})

it('What a handler threw is shown with its stack, and so is a fault.', () => {
  expect(inShort('handler', unreachable)).toBe(unreachable)
  const fault = new TypeError('no')
  expect(inShort('queue', fault)).toBe(fault)
})
