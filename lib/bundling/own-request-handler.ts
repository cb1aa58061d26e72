// Stands in for `@smithy/node-http-handler` in the bundles of the service's own functions. Each of their
// clients brings its request handler (aws/connections.ts), so the SDK's would be 7 KB that every cold start
// loads and no call uses. A consumer's bundle has it: its handler may make clients of any kind.

export { streamCollector } from '@smithy/core/serde'

export const NodeHttpHandler = {
  create<Handler extends object>(handler: Handler): Handler {
    if ('handle' in handler) return handler
    throw new Error('Cannot make this client because it was given no request handler')
  },
}
