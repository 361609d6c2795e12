"""Translates errors of S3 and boto3 to one line with the remedy, or to a passing error."""

from collections.abc import Mapping
from typing import Any

from winnow.pipelines.store.buckets.retries import (
    busy_error,
    cut_off_error,
    first_line,
    no_bucket_error,
    refused_error,
    unreached_error,
    untrusted_error,
    wrong_clock_error,
)
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
    "ConditionalRequestConflict",  # two writers at the same moment: the next attempt shows who won
    "IncompleteBody",
    "BadDigest",  # bytes were lost in transit
    "XAmzContentSHA256Mismatch",
}

_MISSING = {"NoSuchKey", "NoSuchUpload", "404", "NotFound"}
_OF_BUCKETS = {"ListObjectsV2", "ListMultipartUploads"}  # no object is asked for, so none can be missing

_CREDENTIALS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

_PERMISSIONS = {
    "GetObject": "s3:GetObject and s3:ListBucket",  # without the second, a missing object gives "denied" too
    "HeadObject": "s3:GetObject and s3:ListBucket",
    "PutObject": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject",
    "ListObjectsV2": "s3:ListBucket",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
}

_DENIED = {"AccessDenied", "403", "Forbidden"}
_CLOCK = {"RequestTimeTooSkewed", "RequestInTheFuture"}

_REMEDIES = {
    "AllAccessDisabled": "{said}; ask the owner of the bucket",
    "InvalidAccessKeyId": "the service does not know this access key; " + _CREDENTIALS + " of one of its accounts",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key; check AWS_SECRET_ACCESS_KEY",
    "ExpiredToken": "the credentials have expired; get new ones (aws sso login, or a new AWS_SESSION_TOKEN)",
    "InvalidToken": "the session token is not valid; check AWS_SESSION_TOKEN, or unset it",
    "InvalidBucketName": "invalid bucket name for this service; expected 3 to 63 of a-z, 0-9, '-' and '.'",
    "PermanentRedirect": "the bucket is in another region{region}; set AWS_REGION to the bucket's own",
    "AuthorizationHeaderMalformed": "the bucket is in another region{region}; set AWS_REGION to the bucket's own",
    "IllegalLocationConstraintException": "the bucket is in another region{region}; set AWS_REGION to the bucket's own",
    "KeyTooLongError": "the name of an object is too long for the service (1024 bytes); choose a shorter prefix",
    "EntityTooLarge": "an object is too large for the service; lower store.shard_bytes",
    "NotImplemented": "the service lacks something that a store needs ({said}); see docs/howto/object-stores.md",
    "QuotaExceeded": "the bucket is full ({said}); make room, or raise its quota",
    "XMinioStorageFull": "the service's disk is full; make room",
    "InvalidObjectState": "an object is archived; restore it, and keep stores out of archival storage classes",
}
_REMEDIES["XAdminUserNotFound"] = _REMEDIES["InvalidAccessKeyId"]  # versitygw
_REMEDIES["301"] = _REMEDIES["PermanentRedirect"]
_REMEDIES["TokenRefreshRequired"] = _REMEDIES["RequestExpired"] = _REMEDIES["ExpiredToken"]


def translated_error(error: Exception, bucket: str, endpoint: str, *, signed: bool) -> Exception:
    """Translates the failure of one request to FileNotFoundError, TransientError or StoreError."""
    from botocore import exceptions as boto

    if isinstance(error, boto.ClientError):
        return client_error(error.response, error.operation_name, bucket, endpoint, signed=signed)
    place = f"s3://{bucket}"
    words = first_line(error)
    if isinstance(error, (boto.NoCredentialsError, boto.PartialCredentialsError)):
        return StoreError(
            f"{place}: no credentials ({words}); {_CREDENTIALS}; AWS_NO_SIGN_REQUEST=YES reads a public bucket"
        )
    if isinstance(error, boto.ProfileNotFound):
        return StoreError(f"{place}: {words}; check AWS_PROFILE against ~/.aws/config")
    tokens = (boto.SSOError, boto.TokenRetrievalError, boto.UnauthorizedSSOTokenError, boto.CredentialRetrievalError)
    if isinstance(error, tokens):
        return StoreError(f"{place}: cannot get credentials ({words}); sign in again (aws sso login)")
    if isinstance(error, boto.SSLError):
        return untrusted_error(place, endpoint, words, "AWS_ENDPOINT_URL and AWS_CA_BUNDLE")
    if isinstance(error, (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError)):
        return unreached_error(endpoint, "AWS_ENDPOINT_URL, AWS_REGION")
    network = (boto.HTTPClientError, boto.IncompleteReadError, boto.ResponseStreamingError)
    if isinstance(error, boto.BotoCoreError) and not isinstance(error, network):
        return StoreError(f"{place}: {words}; check the AWS_ variables and ~/.aws/config")
    return cut_off_error(endpoint, words)


def client_error(response: Mapping[str, Any], operation: str, bucket: str, endpoint: str, *, signed: bool) -> Exception:
    """Translates what the service answered, about a request or about one object of it."""
    place = f"s3://{bucket}"
    details = response.get("Error", {})
    meta = response.get("ResponseMetadata", {})
    code, words = details.get("Code", ""), details.get("Message", "").rstrip(".") or "no reason given"
    status = meta.get("HTTPStatusCode", 0)
    if code == "NoSuchBucket" or (code in _MISSING and operation in _OF_BUCKETS):
        return no_bucket_error(place, endpoint, "AWS_ENDPOINT_URL")
    if code in _MISSING:
        return FileNotFoundError(place)
    if code in _CLOCK:
        return wrong_clock_error(place, words)
    if code in _DENIED:
        return StoreError(f"{place}: {words}; {_permission(operation, signed=signed)}")
    if code in _REMEDIES:
        region = meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or details.get("Region")
        line = _REMEDIES[code].format(translated_error=words, region=f" ({region})" if region else "")
        return StoreError(f"{place}: {line}")
    if code in PASSING or status in {408, 429} or status >= 500:
        return busy_error(endpoint, code or status, words)
    return refused_error(place, endpoint, code or status, words)


def _permission(operation: str, *, signed: bool) -> str:
    if not signed:
        return f"the bucket is not public: unset AWS_NO_SIGN_REQUEST and {_CREDENTIALS}"
    allowed = _PERMISSIONS.get(operation, f"s3:{operation}")
    return f"grant {allowed} on the bucket to the owner of these credentials"
