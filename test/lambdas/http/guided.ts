import { simulatedService } from './service.ts'

const service = simulatedService()

type Said = { readonly error_code: string; readonly message: string; readonly field?: string }

/** The error that a call of a queue is answered with. */
export async function httpCall(
  verb: string,
  { queue = 'orders', ...options }: { queue?: string; query?: string; body?: string },
): Promise<Said> {
  const { text } = await service.call('POST', `/queue/${queue}/${verb}`, options)
  return JSON.parse(text) as Said
}
