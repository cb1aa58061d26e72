/** We log no query string, because it may contain a lock id. The path has a queue's id, which is not a secret. */
const fields = {
  request_id: '$context.requestId',
  time: '$context.requestTime',
  ip: '$context.identity.sourceIp',
  user_agent: '$context.identity.userAgent',
  caller: '$context.identity.userArn',
  subject: '$context.authorizer.claims.sub',
  method: '$context.httpMethod',
  path: '$context.path',
  route: '$context.routeKey',
  status: '$context.status',
  response_bytes: '$context.responseLength',
  latency_ms: '$context.responseLatency',
  integration_latency_ms: '$context.integrationLatency',
  integration_error: '$context.integrationErrorMessage',
  authorizer_error: '$context.authorizer.error',
}

/** JSON, so that Logs Insights finds the fields by itself. */
export const accessLogFormat = JSON.stringify(fields)
