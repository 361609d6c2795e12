"""What S3 and boto3 say when they refuse, as one line with the remedy, or as something that passes."""

from typing import Any

from winnow.pipelines.store.trying import PassingError
from winnow.schemas.errors import StoreError

PASSING = {
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "RequestLimitExceeded",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "InternalError",
    "OperationAborted",
    "ConditionalRequestConflict",  # two writers at the same moment: the next attempt is told who won
    "IncompleteBody",
    "BadDigest",  # bytes were lost on the way
    "XAmzContentSHA256Mismatch",
}

_MISSING = {"NoSuchKey", "NoSuchUpload", "404", "NotFound"}

_CREDENTIALS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

_REMEDIES = {
    "AccessDenied": "{said}; allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket to who "
    "these credentials belong to",
    "AllAccessDisabled": "{said}; ask the owner of the bucket",
    "InvalidAccessKeyId": "the service does not know this access key; " + _CREDENTIALS + " of an account of its own",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key; check AWS_SECRET_ACCESS_KEY",
    "ExpiredToken": "the credentials have expired; get new ones (aws sso login, or a new AWS_SESSION_TOKEN)",
    "InvalidToken": "the session token is not valid; check AWS_SESSION_TOKEN, or unset it",
    "RequestTimeTooSkewed": "this machine's clock differs from the service's by too much ({said}); set the clock "
    "(timedatectl set-ntp true)",
    "NoSuchBucket": "there is no such bucket at {endpoint}; create it, or check its name and AWS_ENDPOINT_URL",
    "InvalidBucketName": "the service does not take this bucket name; expected 3 to 63 of a-z, 0-9, '-' and '.'",
    "PermanentRedirect": "the bucket is in another region{region}; set AWS_REGION to the bucket's own",
    "AuthorizationHeaderMalformed": "the bucket is in another region{region}; set AWS_REGION to the bucket's own",
    "IllegalLocationConstraintException": "the bucket is in another region{region}; set AWS_REGION to the bucket's own",
    "KeyTooLongError": "the name of an object is too long for the service (1024 bytes); choose a shorter prefix",
    "EntityTooLarge": "an object is too large for the service; lower store.shard_bytes",
    "NotImplemented": "the service lacks something that a store needs ({said}); see docs/object-stores.md",
    "QuotaExceeded": "the bucket is full ({said}); make room, or raise its quota",
    "XMinioStorageFull": "the service's disk is full; make room",
    "InvalidObjectState": "an object lies in an archive; restore it, and keep stores out of archival classes",
}
_REMEDIES["403"] = _REMEDIES["Forbidden"] = _REMEDIES["AccessDenied"]
_REMEDIES["XAdminUserNotFound"] = _REMEDIES["InvalidAccessKeyId"]  # versitygw
_REMEDIES["301"] = _REMEDIES["PermanentRedirect"]
_REMEDIES["TokenRefreshRequired"] = _REMEDIES["RequestExpired"] = _REMEDIES["ExpiredToken"]


def said(error: Exception, bucket: str, endpoint: str) -> Exception:
    """The failure of one request in our terms: FileNotFoundError, PassingError or a StoreError."""
    from botocore import exceptions as boto

    place = f"s3://{bucket}"
    if isinstance(error, boto.ClientError):
        return _refused(error.response, place, endpoint)
    words = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    if isinstance(error, (boto.NoCredentialsError, boto.PartialCredentialsError)):
        return StoreError(
            f"{place}: no credentials ({words}); {_CREDENTIALS}; AWS_NO_SIGN_REQUEST=YES reads a public bucket"
        )
    if isinstance(error, boto.ProfileNotFound):
        return StoreError(f"{place}: {words}; check AWS_PROFILE against ~/.aws/config")
    tokens = (boto.SSOError, boto.TokenRetrievalError, boto.UnauthorizedSSOTokenError, boto.CredentialRetrievalError)
    if isinstance(error, tokens):
        return StoreError(f"{place}: the credentials cannot be had ({words}); sign in again (aws sso login)")
    if isinstance(error, boto.SSLError):
        return StoreError(f"{place}: {endpoint} cannot be trusted ({words}); check AWS_ENDPOINT_URL and AWS_CA_BUNDLE")
    if isinstance(error, (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError)):
        return PassingError(
            f"{endpoint} cannot be reached; check AWS_ENDPOINT_URL, AWS_REGION and the network", answered=False
        )
    network = (boto.HTTPClientError, boto.IncompleteReadError, boto.ResponseStreamingError)
    if isinstance(error, boto.BotoCoreError) and not isinstance(error, network):
        return StoreError(f"{place}: {words}; check the AWS_ variables and ~/.aws/config")
    return PassingError(f"the connection to {endpoint} was cut ({words})", answered=True)


def _refused(response: dict[str, Any], place: str, endpoint: str) -> Exception:
    details = response.get("Error", {})
    meta = response.get("ResponseMetadata", {})
    code, words = details.get("Code", ""), details.get("Message", "").rstrip(".") or "no reason given"
    status = meta.get("HTTPStatusCode", 0)
    if code in _MISSING:
        return FileNotFoundError(place)
    if code in _REMEDIES:
        region = meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or details.get("Region")
        line = _REMEDIES[code].format(said=words, endpoint=endpoint, region=f" ({region})" if region else "")
        return StoreError(f"{place}: {line}")
    if code in PASSING or status in {408, 429} or status >= 500:
        return PassingError(f"{endpoint} answered {code or status} ({words})", answered=True)
    return StoreError(f"{place}: {endpoint} refused: {code or status} ({words}); see docs/object-stores.md")
